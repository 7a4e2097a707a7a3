#include "agent/live/weight.h"

#include "trace/live.h"

/* 1 - exp(-x), x > 0, to 1e-12: by the series if x is small, else from the value for x / 2. */
static double minus_expm1(double x)
{
	double sum = 0, half;

	if (x > 40)
		return 1;
	if (x > 0.25) {
		half = minus_expm1(x / 2);
		return half * (2 - half);
	}
	for (int i = 9; i > 0; i--)
		sum = (1 - sum) * x / i;
	return sum;
}

/*
 * The series by Horner's rule: 1 - exp(-x) = x (1 - x/2 (1 - x/3 (…))). The weight depends only on
 * the size, so a block's end takes from a sum what its beginning added.
 */
struct weight weight_of_sample(uint64_t size, uint64_t mean)
{
	uint64_t bytes = size ? size : 1;
	double weight = 1 / minus_expm1((double)bytes / (double)mean);

	return (struct weight){
		.calls = (uint64_t)(weight * LIVE_WEIGHT_ONE + 0.5),
		.bytes = (uint64_t)(weight * (double)size + 0.5),
	};
}
