/*
 * A recording as an output file of massif, which ms_print and massif-visualizer read: at most 100
 * snapshots of what was live, with the stacks of the peak and of what was never freed.
 *
 *	snapshot=41
 *	time=1203                     milliseconds
 *	mem_heap_B=5242880            requested
 *	mem_heap_extra_B=512          beyond that, usable
 *	heap_tree=peak
 *	n2: 5242880 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 *	 n1: 5242000 0x401136: parse (parse.c:12)
 *	  n0: 5242000 0x401190: main (main.c:5)
 *	 n0: 880 in 3 places, all below massif's threshold (1.00%)
 */
#ifndef MALLOW_REPORT_EXPORT_MASSIF_H
#define MALLOW_REPORT_EXPORT_MASSIF_H

#include "report/export/export_format.h"

/*
 * Without events the snapshots are the start, the peak and the end. An error: merged recordings of
 * several machines, which have no peak in common.
 */
struct err *massif_write(struct buf *buf, const struct export_subject *subject);

#endif
