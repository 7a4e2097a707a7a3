/* Binary search in numbers in ascending order, such as the times at which blocks were allocated. */
#ifndef MALLOW_HOSTED_LOWER_BOUND_H
#define MALLOW_HOSTED_LOWER_BOUND_H

#include <stdint.h>

/* The first i of first … end - 1 with sorted[i] >= least; end: there is none. first <= end. */
static inline uint64_t lower_bound(const uint64_t *sorted, uint64_t first, uint64_t end,
				   uint64_t least)
{
	while (first < end) {
		uint64_t middle = first + (end - first) / 2;

		if (sorted[middle] < least)
			first = middle + 1;
		else
			end = middle;
	}
	return end;
}

#endif
