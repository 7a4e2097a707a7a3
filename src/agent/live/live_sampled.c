#include "agent/live/live_sampled.h"

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

uint8_t live_sampled[LIVE_SAMPLED];

void live_sampled_note(uint64_t address, bool begins)
{
	uint8_t *place = live_sampled_place(address);
	uint8_t count = __atomic_load_n(place, __ATOMIC_RELAXED), next;

	do {
		// 0 at an end: the block began before live_sampled_clear().
		if (count == LIVE_SAMPLED_ALWAYS || (!begins && !count))
			return;
		next = (uint8_t)(begins ? count + 1 : count - 1);
	} while (!__atomic_compare_exchange_n(place, &count, next, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
}

void live_sampled_watch(uint64_t address)
{
	__atomic_store_n(live_sampled_place(address), LIVE_SAMPLED_ALWAYS, __ATOMIC_RELAXED);
}

void live_sampled_clear(void)
{
	for (uint32_t i = 0; i < LIVE_SAMPLED; i++) {
		uint8_t count = __atomic_load_n(&live_sampled[i], __ATOMIC_RELAXED);

		// Not a plain store: untouched pages stay so, and a change in between is not
		// undone.
		if (count && count != LIVE_SAMPLED_ALWAYS)
			__atomic_compare_exchange_n(&live_sampled[i], &count, 0, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}
