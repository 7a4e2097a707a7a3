/*
 * A recording as a data file of heaptrack, version 3, which heaptrack_print and heaptrack_gui read:
 * every allocation and every free in the order of time.
 *
 *	v 10300 3                     what it is; X the command, I the size of a page
 *	s 4 main                      a string ...
 *	i 5581 1 2 3 1f               ... a position in the code, with the lines inlined there ...
 *	t 1 0                         ... a stack: a position and the stack of its caller ...
 *	a 40 1                        ... a kind of block: size and stack
 *	+ 0     - 0                   a block of that kind comes, and goes
 *	c 2a    R 1f4                 milliseconds since the start; resident pages
 *
 * heaptrack computes all sums from these lines, and they come out as mallow's. Temporary blocks
 * need help: for mallow a block is temporary if it is freed before its thread allocates again; for
 * heaptrack, if its free is the next line after an allocation of its kind. So the free of a
 * temporary block is moved to right behind its allocation, before what happened in between. It is
 * not moved if that would change other numbers: if the block is part of the peak, or lives longer
 * than the 10 ms by which heaptrack tells times apart. heaptrack does not count these few as
 * temporary.
 *
 * In a sampled recording a block is written with the size of all blocks that it stands for: bytes
 * are mallow's estimates, and calls count samples. Blocks that CULL only counted are not written,
 * nor are blocks of pools.
 */
#ifndef MALLOW_REPORT_EXPORT_HEAPTRACK_EXPORT_H
#define MALLOW_REPORT_EXPORT_HEAPTRACK_EXPORT_H

#include "analysis/filter/filter.h"
#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

struct heaptrack_export;

/*
 * For the recording of symbolized, which must have blocks. match: only these blocks are written;
 * NULL: all. All of them must outlive the export.
 */
struct err *heaptrack_export_create(struct symbolized *symbolized, const struct filter_match *match,
				    struct heaptrack_export **ret);
/* Accepts NULL. */
void heaptrack_export_destroy(struct heaptrack_export *export);

/*
 * Appends the next piece, some 64 KB, so that no more than that is in memory. *done: it was the
 * last. Call it in symbolized's thread, because it names frames.
 */
struct err *heaptrack_export_more(struct heaptrack_export *export, struct buf *buf, bool *done);

/* Writes all of it at once. */
struct err *heaptrack_export_write(struct buf *buf, struct symbolized *symbolized,
				   const struct filter_match *match);

#endif
