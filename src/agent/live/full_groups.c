#include "agent/live/full_groups.h"

#include <stddef.h>

#include "agent/live/live_memory.h"
#include "base/compiler.h"

/* Its chunk is made where need be. */
struct live_full *full_groups_take(struct full_groups *groups, uint32_t *number)
{
	uint32_t last = __atomic_load_n(&groups->last, __ATOMIC_RELAXED);
	struct live_full **place;

	do
		if (last == LIVE_FULLS - 1)
			return NULL;
	while (!__atomic_compare_exchange_n(&groups->last, &last, last + 1, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	*number = last + 1;
	place = &groups->chunks[*number >> FULL_GROUPS_CHUNK_BITS];
	if (unlikely(!__atomic_load_n(place, __ATOMIC_ACQUIRE)) &&
	    !live_memory_array(place, LIVE_PART_FULLS, sizeof(**place),
			       *number & ~((1u << FULL_GROUPS_CHUNK_BITS) - 1),
			       1u << FULL_GROUPS_CHUNK_BITS))
		return NULL;
	return full_groups_at(groups, *number);
}
