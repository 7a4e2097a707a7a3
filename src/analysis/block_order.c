#include "analysis/block_order.h"

#include <stdbool.h>
#include <stdlib.h>


#include "hosted/cleanup.h"

/*
 * Radix sort from the lowest digit, which is stable. Digits of 11 bits: their counts and the ends
 * that are written to stay in the first level cache. A digit that is the same in all keys, as the
 * high ones of sizes are, costs one pass over the keys and moves nothing.
 */
#define DIGIT_BITS 11
#define DIGITS	   (1u << DIGIT_BITS)

static uint32_t digit(uint64_t key, unsigned int shift)
{
	return (uint32_t)(key >> shift) & (DIGITS - 1);
}

/* false: all keys have the same digit there, and *to is not written. */
static bool sort_digit(const uint64_t *keys, uint64_t count, unsigned int shift,
		       const uint32_t *from, uint32_t *to)
{
	uint32_t ends[DIGITS] = {0}, sum = 0;

	for (uint64_t i = 0; i < count; i++)
		ends[digit(keys[i], shift)]++;
	if (ends[digit(keys[0], shift)] == count)
		return false;
	for (uint32_t i = 0; i < DIGITS; i++) {
		uint32_t here = ends[i];

		ends[i] = sum;
		sum += here;
	}
	for (uint64_t i = 0; i < count; i++)
		to[ends[digit(keys[from[i]], shift)]++] = from[i];
	return true;
}

struct err *block_order_create(const uint64_t *keys, uint64_t count, uint32_t **ret)
{
	auto_free uint32_t *from = NULL;
	auto_free uint32_t *to = NULL;

	if (count > UINT32_MAX)
		return err_create("%ju allocations are too many to be sorted", (uintmax_t)count);
	from = malloc((count + 1) * sizeof(*from));
	to = malloc((count + 1) * sizeof(*to));
	if (!from || !to)
		return err_no_memory();
	for (uint64_t i = 0; i < count; i++)
		from[i] = (uint32_t)i;
	for (unsigned int shift = 0; count && shift < 64; shift += DIGIT_BITS) {
		uint32_t *old = from;

		if (!sort_digit(keys, count, shift, from, to))
			continue;
		from = to;
		to = old;
	}
	*ret = steal(&from);
	return NULL;
}
