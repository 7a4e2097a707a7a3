/*
 * What conditions about blocks are made of: each is one pass over a column, and removes from the
 * match the blocks for which it does not hold.
 *
 *	keep_range(match, blocks->size, filter_range(filter, FILTER_SIZE_MIN))
 */
#ifndef MALLOW_ANALYSIS_FILTER_FILTER_KEEP_H
#define MALLOW_ANALYSIS_FILTER_FILTER_KEEP_H

#include <string.h>

#include "analysis/filter/filter_data.h"

/* Both bounds are inclusive. min above max: nothing is in the range. */
struct range {
	uint64_t min, max;
};

#define RANGE_ALL ((struct range){0, UINT64_MAX})

static inline bool range_is_all(struct range range)
{
	return range.min == 0 && range.max == UINT64_MAX;
}

static inline bool range_has(struct range range, uint64_t value)
{
	return value - range.min <= range.max - range.min;
}

/* The range of a pair of conditions, of which `min` is the first. */
static inline struct range filter_range(const struct filter *filter, enum filter_id min)
{
	const struct filter_condition *low = &filter->conditions[min], *high = low + 1;

	return (struct range){
		.min = low->name ? low->number : 0,
		.max = high->name ? high->number : UINT64_MAX,
	};
}

/*
 * The condition is an expression of i, the block. 64 blocks are evaluated at a time, without a
 * branch; groups in which no block is left are skipped.
 */
#define KEEP(match, condition)                                                                     \
	for (uint64_t word = 0; word * 64 < (match)->blocks; word++) {                             \
		uint64_t end =                                                                     \
			(match)->blocks - word * 64 < 64 ? (match)->blocks - word * 64 : 64;       \
		uint64_t bits = 0;                                                                 \
                                                                                                   \
		if (!(match)->words[word])                                                         \
			continue;                                                                  \
		for (uint64_t bit = 0; bit < end; bit++) {                                         \
			uint64_t i = word * 64 + bit;                                              \
                                                                                                   \
			bits |= (uint64_t)(condition) << bit;                                      \
		}                                                                                  \
		(match)->words[word] &= bits;                                                      \
	}

static inline void keep_none(struct filter_match *match)
{
	memset(match->words, 0, (match->blocks + 63) / 64 * sizeof(*match->words));
}

/*
 * Whether no block needs to be looked at: the range contains everything, or nothing (then no block
 * is left).
 */
static inline bool keep_is_settled(struct filter_match *match, struct range range)
{
	if (range.min > range.max)
		keep_none(match);
	return range_is_all(range) || range.min > range.max;
}

static inline void keep_range(struct filter_match *match, const uint64_t *column,
			      struct range range)
{
	if (!keep_is_settled(match, range)) {
		KEEP(match, range_has(range, column[i]));
	}
}

/* The same for a column of 32 bits. */
static inline void keep_range_32(struct filter_match *match, const uint32_t *column,
				 struct range range)
{
	if (!keep_is_settled(match, range)) {
		KEEP(match, range_has(range, column[i]));
	}
}

/* Keeps what has the stack that a condition names. stacks: NULL: not recorded. */
static inline void keep_stack(struct filter_match *match, const struct filter *filter,
			      enum filter_id id, const uint32_t *stacks)
{
	uint64_t wanted = filter->conditions[id].number;

	if (!filter_has(filter, id))
		return;
	if (!stacks || wanted >= RECORDING_NONE)
		return keep_none(match);
	KEEP(match, stacks[i] == wanted);
}

#endif
