#include "agent/live/stack_index.h"

#include <stddef.h>

#include "agent/ground/own_pages.h"

static size_t tier_size(uint32_t tier)
{
	return ((size_t)stack_index_mask(tier) + 1) * sizeof(uint64_t);
}

/* Makes the tier after `tier` the last one. Nothing changes if there is no memory. */
static void grow_tier(struct stack_index *index, uint32_t tier)
{
	bool own;

	if (!own_pages_once(&index->more[tier], tier_size(tier + 1), &own))
		return;
	__atomic_compare_exchange_n(&index->last, &tier, tier + 1, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_RELAXED);
}

/* Searches end at a free entry. */
static uint32_t most_entries(uint32_t tier)
{
	return (stack_index_mask(tier) + 1) / 8 * 7;
}

bool stack_index_make_room(struct stack_index *index)
{
	uint32_t tier = __atomic_load_n(&index->last, __ATOMIC_ACQUIRE);
	uint32_t count = __atomic_load_n(&index->counts[tier], __ATOMIC_RELAXED);

	if (count < (stack_index_mask(tier) + 1) / 4 * 3)
		return true;
	if (tier + 1 < STACK_INDEX_TIERS)
		grow_tier(index, tier);
	return tier != __atomic_load_n(&index->last, __ATOMIC_RELAXED) ||
	       count < most_entries(tier);
}

static bool claim_room(struct stack_index *index, uint32_t tier)
{
	if (likely(__atomic_add_fetch(&index->counts[tier], 1, __ATOMIC_RELAXED) <=
		   most_entries(tier)))
		return true;
	__atomic_sub_fetch(&index->counts[tier], 1, __ATOMIC_RELAXED);
	return false;
}

static uint32_t add_to(struct stack_index *index, uint32_t tier, uint64_t hash, uint32_t site)
{
	uint64_t *entries = stack_index_tier(index, tier), there;
	uint64_t entry = stack_index_entry(hash, site);
	uint32_t mask = stack_index_mask(tier), i = (uint32_t)hash & mask;

	if (!claim_room(index, tier))
		return 0;
	for (;; i = (i + 1) & mask) {
		there = 0;
		if (__atomic_compare_exchange_n(&entries[i], &there, entry, false, __ATOMIC_SEQ_CST,
						__ATOMIC_ACQUIRE))
			return site;
		if (stack_index_is(there, hash))
			break;
	}
	__atomic_sub_fetch(&index->counts[tier], 1, __ATOMIC_RELAXED);
	return stack_index_site(there);
}

/* Searches the tiers before that one, the latest first. */
static uint32_t find_before(struct stack_index *index, uint64_t hash, uint32_t tier)
{
	uint32_t site = 0;

	while (!site && tier-- > 0)
		site = stack_index_find_in(stack_index_tier(index, tier), stack_index_mask(tier),
					   hash);
	return site;
}

/*
 * The entry of the last tier is the valid one. Another thread may add the same stack to the tier
 * before at the same time. Either that was still the last tier, and the entry is found there. Or
 * that thread looks which tier is the last after it has added its entry, finds this tier, and in it
 * this entry.
 */
uint32_t stack_index_add(struct stack_index *index, uint64_t hash, uint32_t site)
{
	uint32_t tier = __atomic_load_n(&index->last, __ATOMIC_SEQ_CST), added_to;

	do {
		uint32_t older = find_before(index, hash, tier);
		uint32_t added = add_to(index, tier, hash, older ? older : site);

		if (!added)
			return older;
		site = added;
		added_to = tier;
		tier = __atomic_load_n(&index->last, __ATOMIC_SEQ_CST);
	} while (tier != added_to);
	return site;
}

never_inline uint32_t stack_index_find_older(struct stack_index *index, uint64_t hash,
					     uint32_t tier)
{
	uint32_t site = find_before(index, hash, tier);

	return site ? stack_index_add(index, hash, site) : 0;
}

void stack_index_release(struct stack_index *index)
{
	for (uint32_t tier = 1; tier < STACK_INDEX_TIERS; tier++)
		if (index->more[tier - 1])
			own_pages_release(index->more[tier - 1], tier_size(tier));
}
