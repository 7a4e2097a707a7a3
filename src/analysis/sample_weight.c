#include "analysis/sample_weight.h"

#include <math.h>

#define WEIGHT_MAX (UINT64_C(1) << 32)

/* From 0 to 1, evenly: the upper bits of a number mixed as in SplitMix64. */
static double chance(uint64_t number)
{
	uint64_t z = number * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ z >> 31) >> 11) / (double)(UINT64_C(1) << 53);
}

uint64_t sample_weight(uint64_t mean, uint64_t size, uint64_t number)
{
	double bytes = size ? (double)size : 1;
	double weight = 1 / -expm1(-bytes / (double)mean);
	double whole = floor(weight);

	if (weight > WEIGHT_MAX) // the header of a damaged file
		return WEIGHT_MAX;
	return (uint64_t)whole + (chance(number) < weight - whole);
}
