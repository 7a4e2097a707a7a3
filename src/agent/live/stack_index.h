/*
 * The sites of stacks (sites.h) by a hash of 64 bits of all frames: one look, however many frames
 * differ from the stack before.
 *
 *   tier 0 ──► tier 1 ──► …   open addressing, each tier 8 times as large as the one before
 *
 *   entry    site (20 bits) | the hash's bits from 20 on (44)       0: free
 *
 * Where an entry lies is told by the hash's lowest bits, 12 to 21 of them; and by 11 of them where
 * a thread keeps what it looked up lately (live_own.recent). So 55 bits count at least: of a
 * million stacks, the most that there can be, some two are taken for one with a probability of 1 in
 * 70,000, and what the later one allocates is told of the other.
 *
 * When a tier is full to 3/4 the next one takes what is new. Entries stay where they are, and are
 * copied to the last tier when they are found. A stack has one site, whoever adds it when; only who
 * is stopped within a look of a few instructions while a tier is made, and others meet the stack
 * for the first time, may find a second one, whose sums readers of recordings add.
 *
 * Lock-free, any thread, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_STACK_INDEX_H
#define MALLOW_AGENT_LIVE_STACK_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "trace/live.h"

#define STACK_INDEX_TIERS      4
#define STACK_INDEX_FIRST_BITS 12 /* of tier 0 */
#define STACK_INDEX_STEP_BITS  3

/* Zero: empty. */
struct stack_index {
	uint64_t *more[STACK_INDEX_TIERS - 1]; /* atomic: tiers 1, 2, … */
	uint32_t counts[STACK_INDEX_TIERS];    /* atomic: entries, and claims of some */
	uint32_t last;                         /* atomic: the tier that takes what is new */
	uint64_t first[1u << STACK_INDEX_FIRST_BITS];
};

/* The site of the stack with that hash. 0: it is not there. */
static inline uint32_t stack_index_find(struct stack_index *index, uint64_t hash);

/* Whether there is room for one more, which may have to be made. */
bool stack_index_make_room(struct stack_index *index);

/*
 * That stack has this site from now on. The site that it has: another one if another thread came
 * first. 0: there is no room.
 */
uint32_t stack_index_add(struct stack_index *index, uint64_t hash, uint32_t site);

/* Gives the memory of tiers back. */
void stack_index_release(struct stack_index *index);

uint32_t stack_index_find_older(struct stack_index *index, uint64_t hash, uint32_t tier);

static inline uint64_t *stack_index_tier(struct stack_index *index, uint32_t tier)
{
	return tier ? __atomic_load_n(&index->more[tier - 1], __ATOMIC_ACQUIRE) : index->first;
}

static inline uint32_t stack_index_mask(uint32_t tier)
{
	return (1u << (STACK_INDEX_FIRST_BITS + tier * STACK_INDEX_STEP_BITS)) - 1;
}

static inline uint64_t stack_index_entry(uint64_t hash, uint32_t site)
{
	return (hash & ~(uint64_t)(LIVE_SITES - 1)) | site;
}

/* Whether it is of the stack with that hash, of those whose lowest bits are the same. */
static inline bool stack_index_is(uint64_t entry, uint64_t hash)
{
	return (entry ^ hash) >> LIVE_SITE_BITS == 0 && entry;
}

static inline uint32_t stack_index_site(uint64_t entry)
{
	return (uint32_t)entry & (LIVE_SITES - 1);
}

/* In one tier, which always has a free entry. */
static inline uint32_t stack_index_find_in(const uint64_t *entries, uint32_t mask, uint64_t hash)
{
	for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
		uint64_t entry = __atomic_load_n(&entries[i], __ATOMIC_ACQUIRE);

		if (likely(stack_index_is(entry, hash)))
			return stack_index_site(entry);
		if (!entry)
			return 0;
	}
}

static inline uint32_t stack_index_find(struct stack_index *index, uint64_t hash)
{
	uint32_t tier = __atomic_load_n(&index->last, __ATOMIC_ACQUIRE);
	uint32_t site =
		stack_index_find_in(stack_index_tier(index, tier), stack_index_mask(tier), hash);

	return likely(site || !tier) ? site : stack_index_find_older(index, hash, tier);
}

#endif
