/*
 * The sums of a recording as a profile of callgrind, which kcachegrind and callgrind_annotate read,
 * the latter with the lines of the source. Six events: bytes and blocks, in all, at the peak, and
 * never freed.
 *
 *	fn=(1) main          12 64 1 …            a line of main, and what it allocated itself
 *	cfn=(2) parse
 *	calls=3 0
 *	15 4096 3 …                               a line of main, and what its calls of parse did
 *
 * Such a profile has no stacks, but a graph: what a function has with all that it called is its own
 * and that of its calls. A function that called itself would be counted twice. So on each stack its
 * second place is a function of its own, fn'2, as callgrind itself does with --separate-recs.
 */
#ifndef MALLOW_REPORT_EXPORT_CALLGRIND_H
#define MALLOW_REPORT_EXPORT_CALLGRIND_H

#include "report/export/export_format.h"

struct err *callgrind_write(struct buf *buf, const struct export_subject *subject);

#endif
