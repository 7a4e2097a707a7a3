/*
 * A recording as a data file of heaptrack, version 3 of the dialect that heaptrack_print and
 * heaptrack_gui read: every allocation and every free in the order of time.
 *
 *	v 10300 3                     what it is; X the command, I the size of a page
 *	s 4 main                      a string ...
 *	i 5581 1 2 3 1f               ... a position in the code, with the lines inlined there ...
 *	t 1 0                         ... a stack: a position and the stack of its caller ...
 *	a 40 1                        ... a kind of block: size and stack
 *	+ 0     - 0                   a block of that kind comes, and goes
 *	c 2a    R 1f4                 milliseconds since the start; resident pages
 *
 * heaptrack computes all sums itself, from these lines. They come to what mallow says, also the
 * temporary ones: heaptrack takes for one whose free follows right behind an allocation of its
 * kind, mallow what is freed before its thread allocates again. So such a free is written right
 * behind its allocation, past what happened in between, unless that would be seen elsewhere: where
 * the block is part of the peak, or lives longer than the 10 ms by which heaptrack itself tells
 * times apart. These few are not temporary for heaptrack.
 *
 * Of a sample, each block is one with the size of all that it stands for: bytes are the estimates
 * of mallow, calls count samples. Blocks that CULL only counted are not in it, nor are those of
 * pools.
 */
#ifndef MALLOW_REPORT_EXPORT_HEAPTRACK_EXPORT_H
#define MALLOW_REPORT_EXPORT_HEAPTRACK_EXPORT_H

#include "analysis/filter/filter.h"
#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

struct heaptrack_export;

/*
 * The recording is that of symbolized, with blocks; both must outlive it, and so must match: only
 * the blocks in it are written. NULL: all.
 */
struct err *heaptrack_export_create(struct symbolized *symbolized, const struct filter_match *match,
				    struct heaptrack_export **ret);
/* Accepts NULL. */
void heaptrack_export_destroy(struct heaptrack_export *export);

/*
 * Appends the next piece, some 64 KB, so that no more is ever in memory. *done: it was the last. In
 * the thread that symbolized belongs to, for it names frames.
 */
struct err *heaptrack_export_more(struct heaptrack_export *export, struct buf *buf, bool *done);

/* All of it. */
struct err *heaptrack_export_write(struct buf *buf, struct symbolized *symbolized,
				   const struct filter_match *match);

#endif
