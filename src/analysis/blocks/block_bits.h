/*
 * A set of blocks, or of lives of mappings: a bit for each, as a filter makes it. NULL: all of
 * them.
 *
 *	BLOCK_BITS_EACH(bits, count, i)
 *		sum += blocks->size[i];
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_BITS_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_BITS_H

#include <stdbool.h>
#include <stdint.h>

static inline bool block_bits_has(const uint64_t *bits, uint64_t i)
{
	return !bits || bits[i / 64] >> i % 64 & 1;
}

/* The first block of the set from i on; count: there is none. */
static inline uint64_t block_bits_next(const uint64_t *bits, uint64_t count, uint64_t i)
{
	uint64_t word;

	if (i >= count || !bits)
		return i < count ? i : count;
	word = bits[i / 64] >> i % 64;
	if (word)
		return i + (uint64_t)__builtin_ctzll(word);
	for (uint64_t at = i / 64 + 1; at * 64 < count; at++)
		if (bits[at])
			return at * 64 + (uint64_t)__builtin_ctzll(bits[at]);
	return count;
}

#define BLOCK_BITS_EACH(bits, count, i)                                                            \
	for (uint64_t i = block_bits_next(bits, count, 0); i < (count);                            \
	     i = block_bits_next(bits, count, i + 1))

#endif
