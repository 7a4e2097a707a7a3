/*
 * The cells of the table of live blocks (trace/live.h): pieces of 32 bytes, each with a number.
 * They are handed out one, two or four at a time, from fours that lie together. Full groups have
 * numbers and memory of their own. The kernel gets neither back.
 *
 * Lock-free, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_CELLS_H
#define MALLOW_AGENT_LIVE_BLOCKS_CELLS_H

#include <assert.h>
#include <stdint.h>

#include "agent/live_blocks/number_stack.h"
#include "trace/live.h"

#define CELLS_CHUNK_BITS 15 /* 1 MiB each */
#define CELLS_CHUNKS     (LIVE_CELLS >> CELLS_CHUNK_BITS)
#define CELLS_FOUR_LOG   2

/* Zero: none. */
struct cells {
	uint64_t *chunks[CELLS_CHUNKS]; /* atomic */
	uint32_t last; /* atomic: the latest four, by the number of its first cell; 0: none */
	/* Atomic: the next cell and the next pair in a four that was cut up. A multiple of 4, the
	 * start of a four: it is used up. */
	uint32_t next[CELLS_FOUR_LOG];
};

/*
 * Takes 1, 2 or 4 cells that nobody had yet: 1 << log. Returns the number of the first one; *words
 * is their memory, which is zero. 0: there are no more.
 */
uint32_t cells_take(struct cells *cells, unsigned int log, uint64_t **words);

/* The words of cells that were taken. */
static inline uint64_t *cells_at(const struct cells *cells, uint32_t number)
{
	return __atomic_load_n(&cells->chunks[number >> CELLS_CHUNK_BITS], __ATOMIC_RELAXED) +
	       (uint64_t)(number & ((1u << CELLS_CHUNK_BITS) - 1)) * LIVE_CELL_WORDS;
}

/* The name of the next group; in a free cell, the number of the next free one. */
static inline uint32_t cells_next(const uint64_t *words)
{
	return (uint32_t)__atomic_load_n(&words[0], __ATOMIC_RELAXED);
}

/* Words are numbered across cells: word i of cell n is n * 4 + i < 1 << CELLS_WORD_BITS. */
#define CELLS_WORD_BITS (LIVE_CELL_BITS + 2)
static_assert(1u << 2 == LIVE_CELL_WORDS, "words are numbered across cells");

static inline uint32_t cells_word_number(uint32_t cell, uint32_t index)
{
	return cell * LIVE_CELL_WORDS + index;
}

static inline uint64_t *cells_word(const struct cells *cells, uint32_t number)
{
	return cells_at(cells, number / LIVE_CELL_WORDS) + number % LIVE_CELL_WORDS;
}

#define FULL_GROUPS_CHUNK_BITS 12 /* 1 MiB each */
#define FULL_GROUPS_CHUNKS     (LIVE_FULLS >> FULL_GROUPS_CHUNK_BITS)

/* The full groups, by their number. Zero: none. */
struct full_groups {
	struct live_full *chunks[FULL_GROUPS_CHUNKS]; /* atomic */
	uint32_t last; /* atomic: the number that was made last; 0: none was */
	struct number_stack free;
};

/* Takes a full group that nobody has; its entries are zero. NULL: there are no more. */
struct live_full *full_groups_take(struct full_groups *groups, uint32_t *number);

/* Gives back a full group that has no entries any more. */
void full_groups_give_back(struct full_groups *groups, uint32_t number);

/* The full group of that number, which was taken. */
static inline struct live_full *full_groups_at(const struct full_groups *groups, uint32_t number)
{
	return &__atomic_load_n(&groups->chunks[number >> FULL_GROUPS_CHUNK_BITS],
				__ATOMIC_RELAXED)[number & ((1u << FULL_GROUPS_CHUNK_BITS) - 1)];
}

#endif
