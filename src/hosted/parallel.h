/* Does work that comes in equal pieces, with a thread for each processor. */
#ifndef MALLOW_HOSTED_PARALLEL_H
#define MALLOW_HOSTED_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

/* Does piece number i. Pieces run at the same time, in any order. */
typedef void parallel_piece(void *argument, size_t number);

/*
 * Does the pieces 0 … count - 1, some of them in the caller's thread, and returns when all are
 * done. No thread is started for one piece or on one processor. If threads cannot be started, fewer
 * or none are used.
 */
void parallel_run(parallel_piece *piece, void *argument, size_t count);

/* The most pieces that run at the same time. */
size_t parallel_width(void);

/*
 * Into how many pieces to cut so many things, if each piece has a cost of its own. A piece gets
 * about `fewest` things or more: things / fewest + 1 pieces, but no more than run at the same time.
 */
size_t parallel_pieces(uint64_t things, uint64_t fewest);

#endif
