#include "analysis/groups/scale.h"

#include <assert.h>

#include "base/compiler.h"

static void add(struct scale *scale, uint64_t highest)
{
	assert(scale->count < SCALE_CLASSES);
	scale->highest[scale->count++] = highest;
}

static void finish(struct scale *scale)
{
	size_t class = 0;

	add(scale, UINT64_MAX);
	for (unsigned int bit = 0; bit < 64; bit++) {
		while (scale->highest[class] < UINT64_C(1) << bit)
			class ++;
		scale->start[bit] = (uint8_t) class;
	}
}

void scale_of_sizes(struct scale *scale)
{
	*scale = (struct scale){0};
	add(scale, 0);
	for (unsigned int bit = 0; bit < 64; bit++)
		add(scale, UINT64_C(1) << bit);
	finish(scale);
}

void scale_of_times(struct scale *scale)
{
	static const uint64_t units[] = {1, 1000, 1000000};
	const uint64_t second = 1000000000;

	*scale = (struct scale){0};
	for (size_t i = 0; i < ARRAY_COUNT(units); i++)
		for (uint64_t times = 1; times <= 512; times *= 2)
			add(scale, units[i] * times);
	for (uint64_t times = 1; times <= UINT64_MAX / second; times *= 2)
		add(scale, second * times);
	finish(scale);
}
