/*
 * What blocks are sorted by: a key, and for equal keys the row. For the descending order both are
 * complemented, so that the lesser one always comes first.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_SORT_KEY_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_SORT_KEY_H

#include <stdbool.h>
#include <stdint.h>

struct block_sort_key {
	uint64_t key;
	uint32_t row;
};

/* The blocks to be sorted, and their keys. */
struct block_sort_keys {
	const uint64_t *bits; /* block_bits.h */
	const uint64_t *keys; /* one for each block */
	uint64_t blocks;      /* below 2^32 */
	bool descending;
};

static inline struct block_sort_key block_sort_key_at(const struct block_sort_keys *entries,
						      uint64_t i)
{
	uint64_t flip = entries->descending ? UINT64_MAX : 0;

	return (struct block_sort_key){entries->keys[i] ^ flip, (uint32_t)(i ^ flip)};
}

static inline bool block_sort_key_is_before(const struct block_sort_key *a,
					    const struct block_sort_key *b)
{
	return a->key != b->key ? a->key < b->key : a->row < b->row;
}

#endif
