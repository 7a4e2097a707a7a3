#include "agent/live/live_sampled.h"

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
