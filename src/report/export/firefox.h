/*
 * A recording as a profile of the Firefox Profiler (https://profiler.firefox.com), which shows
 * allocations over time: what of a span was retained, by stack, beside a track of the memory. In
 * the processed format, version 57, which the site upgrades to its own.
 *
 * Its page opens no more than some hundred thousand events. So the 10 × --nodes largest blocks are
 * there one by one, and the others in groups: those of one stack that began in one step of the run
 * and ended in one step are one block.
 *
 *	steps   |----------|----------|----------|
 *	blocks     +a    +b      -a       -b -c      of one stack; c never was in a step with
 *another +c file              +ab        -a..           at the ends of steps
 *
 * What is live at the end of a step, and all sums, are as without groups. The track of the memory
 * is made of all blocks.
 */
#ifndef MALLOW_REPORT_EXPORT_FIREFOX_H
#define MALLOW_REPORT_EXPORT_FIREFOX_H

#include "report/export/export_format.h"

/* An error: the subject has no events. */
struct err *firefox_write(struct buf *buf, const struct export_subject *subject);

#endif
