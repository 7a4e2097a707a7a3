#include "analysis/sites/sample_weight.h"

#include <math.h>

#include "base/random.h"

#define WEIGHT_MAX (UINT64_C(1) << 32)

/* From 0 to 1, evenly: what the generator that began at 0 says at its call of that number. */
static double chance(uint64_t number)
{
	return (double)(random_mix(number * RANDOM_STEP) >> 11) / (double)(UINT64_C(1) << 53);
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
