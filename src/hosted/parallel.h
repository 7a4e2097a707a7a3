/* Work in many equal pieces, done by as many threads as there are processors. */
#ifndef MALLOW_HOSTED_PARALLEL_H
#define MALLOW_HOSTED_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

/* Does piece number i. Pieces run at the same time, in any order. */
typedef void parallel_piece(void *argument, size_t number);

/*
 * Runs the pieces 0 … count - 1, some in the caller's thread, and returns when all are done. One
 * piece, or one processor, takes no thread; nor does a machine that gives none.
 */
void parallel_run(parallel_piece *piece, void *argument, size_t count);

/* How many pieces run at a time, at most. */
size_t parallel_width(void);

/*
 * Into how many pieces, at least one, so many things are cut where a piece costs something by
 * itself: as many as run at a time, but none of fewer than that.
 */
size_t parallel_pieces(uint64_t things, uint64_t fewest);

#endif
