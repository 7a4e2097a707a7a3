/*
 * Classes of numbers. The highest number of a class is twice that of the class before. Classes of
 * sizes end at powers of two: 0, 1, 2, 3 to 4, 5 to 8, … Classes of times end at 1, 2, 4 … 512 ns,
 * us and ms, which are easy to read, and at 1, 2, 4 … s.
 */
#ifndef MALLOW_ANALYSIS_GROUPS_SCALE_H
#define MALLOW_ANALYSIS_GROUPS_SCALE_H

#include <stddef.h>
#include <stdint.h>

#define SCALE_CLASSES 68

struct scale {
	uint64_t highest[SCALE_CLASSES]; /* highest number of each class; the last: UINT64_MAX */
	size_t count;
	uint8_t start[64]; /* the class of each power of two */
};

void scale_of_sizes(struct scale *scale);
/* For times in nanoseconds. */
void scale_of_times(struct scale *scale);

static inline size_t scale_class(const struct scale *scale, uint64_t value)
{
	size_t class = value ? scale->start[63 - __builtin_clzll(value)] : 0;

	while (value > scale->highest[class])
		class ++; // at most two steps
	return class;
}

/* The lowest number of a class. */
static inline uint64_t scale_lowest(const struct scale *scale, size_t class)
{
	return class ? scale->highest[class - 1] + 1 : 0;
}

#endif
