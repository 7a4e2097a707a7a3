/*
 * How the bytes that are live change from one allocation to the next:
 *
 *	changes of allocation i  =  its size  -  sizes of the blocks that were freed right before it
 *
 * Frees and allocations at equal times are told apart by `free_turn`. The changes are made a window
 * of allocations at a time, so that they take as much memory for a long recording as for a short
 * one:
 *
 *	allocations  first ................................................ end
 *	windows      |------- 0 ------|------- 1 ------|------- 2 ------|--- 3 --|
 *
 * Most blocks end in the window in which they began. The others wait in a list of the window in
 * which they end: 16 bytes for each block that is live at a window's end.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_LIVE_CHANGES_H
#define MALLOW_ANALYSIS_BLOCKS_LIVE_CHANGES_H

#include "analysis/recording.h"

struct live_change_list;

/* The caller sets the first five members; the rest is zeroed. */
struct live_changes {
	const struct block_columns *blocks;
	const uint64_t *bits; /* which blocks count: block_bits.h; NULL: all */
	uint64_t sample_mean; /* 0: each block counts once */
	uint64_t first, end;  /* the allocations that are walked over */

	uint64_t live;           /* bytes that were live before the first of them */
	uint64_t begin, stop;    /* the present window … */
	const uint64_t *changes; /* … and the change of each of its allocations, modulo 2^64 */

	uint64_t *memory;                 /* of changes */
	struct live_change_list *waiting; /* of each window */
};

/* Looks for what is live before `first`. The first window is still to come. */
struct err *live_changes_begin(struct live_changes *changes);
/* Goes on to the next window. *ret false: there is none. */
struct err *live_changes_next(struct live_changes *changes, bool *ret);
void live_changes_deinit(struct live_changes *changes);

#endif
