/*
 * Times of blocks in nanoseconds, beside the ticks in the rows of a recording that still grows.
 * From one look at it to the next, only times of blocks that began or ended since are converted.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_TIMES_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_TIMES_H

#include "analysis/load/tick_clock.h"
#include "hosted/err.h"
#include "hosted/files/spill.h"

struct block_store;
struct block_columns;
struct block_rows;

/* Zeroed: empty. */
struct block_times {
	struct spill allocated, freed;
	uint64_t capacity;
	uint64_t count;          /* so many blocks have their times … */
	struct tick_clock clock; /* … by this clock */
};

void block_times_deinit(struct block_times *times);
/* spill_give_back() for both. */
void block_times_give_back(const struct block_times *times);

/*
 * Gives the blocks that are in the store now their times by that clock. With the clock of the last
 * call only new times are converted, with another one all. Empties store->ended, and has it filled
 * from now on. *columns: the store's, with these times; valid until something is taken into the
 * store.
 */
struct err *block_times_renew(struct block_times *times, struct block_store *store,
			      const struct tick_clock *clock, struct block_columns *columns);

/*
 * Converts the ticks in rows first … end - 1, in several threads; TIME_NEVER stays. The results may
 * be the rows' own columns.
 */
void block_times_convert(const struct tick_clock *clock, const struct block_rows *rows,
			 uint64_t first, uint64_t end, uint64_t *allocated, uint64_t *freed);

#endif
