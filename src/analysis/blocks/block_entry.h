/*
 * A block's place in an order by keys, equal ones by row. Descending, both are their complement, so
 * that what comes first is always the lesser. For the files that choose blocks by order.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_ENTRY_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

struct block_entry {
	uint64_t key;
	uint32_t row;
};

/* The blocks that are ordered. */
struct block_entries {
	const uint64_t *bits; /* block_bits.h */
	const uint64_t *keys; /* one for each block */
	uint64_t blocks;      /* below 2^32 */
	bool descending;
};

static inline struct block_entry block_entry_at(const struct block_entries *entries, uint64_t i)
{
	uint64_t flip = entries->descending ? UINT64_MAX : 0;

	return (struct block_entry){entries->keys[i] ^ flip, (uint32_t)(i ^ flip)};
}

static inline bool block_entry_is_before(const struct block_entry *a, const struct block_entry *b)
{
	return a->key != b->key ? a->key < b->key : a->row < b->row;
}

#endif
