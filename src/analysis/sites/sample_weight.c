#include "analysis/sites/sample_weight.h"

#include <math.h>

#include "base/random.h"

#define WEIGHT_MAX (UINT64_C(1) << 32)

/*
 * A random number from 0 to 1: what a generator that began with state 0 returns at its number-th
 * call.
 */
static double chance(uint64_t number)
{
	return (double)(random_mix(number * RANDOM_STEP) >> 11) / (double)(UINT64_C(1) << 53);
}

uint64_t sample_weight(uint64_t mean, uint64_t size, uint64_t number)
{
	double bytes = size ? (double)size : 1;
	double weight = 1 / -expm1(-bytes / (double)mean);
	double whole = floor(weight);

	if (weight > WEIGHT_MAX) // the file's header is damaged
		return WEIGHT_MAX;
	return (uint64_t)whole + (chance(number) < weight - whole);
}
