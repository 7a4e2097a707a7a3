/*
 * Finds the site of a stack (sites.h) by a hash of all its frames, 64 bits: one look, however many
 * frames differ from the stack before. A hash table with open addressing that grows by tiers:
 *
 *   tier 0 ──► tier 1 ──► …   each tier 8 times as large as the one before
 *
 *   entry    site (20 bits) | the hash's bits from 20 on (44)       0: free
 *
 * The lowest bits of the hash are the place in a tier: 12 to 21 bits. A thread's own cache
 * (live_own.recent) uses the lowest 11. So at least 55 bits of the hash are compared. Among a
 * million stacks, the most that there can be, two have the same 55 bits with a probability of 1 in
 * 70,000; then the blocks of the later one are counted for the other.
 *
 * When a tier is full to 3/4, new entries go into the next one. Old entries stay where they are,
 * and are copied to the last tier when they are found. A stack has one site even if several threads
 * add it at once. One case is left: a thread is stopped within a few instructions of a search while
 * a tier is made and others meet the stack for the first time. It may make a second site, and
 * readers of recordings add the sums of both.
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
	uint32_t counts[STACK_INDEX_TIERS];    /* atomic: entries, also those being added */
	uint32_t last;                         /* atomic: the tier for new entries */
	uint64_t first[1u << STACK_INDEX_FIRST_BITS];
};

/* The site of the stack with that hash. 0: not there. */
static inline uint32_t stack_index_find(struct stack_index *index, uint64_t hash);

/* Whether there is room for one more; makes some if need be. */
bool stack_index_make_room(struct stack_index *index);

/*
 * Adds a stack with its site. Returns the stack's site: another one if another thread came first.
 * 0: there is no room.
 */
uint32_t stack_index_add(struct stack_index *index, uint64_t hash, uint32_t site);

/* Frees the tiers. */
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

/* Whether the entry is that of the stack with the hash. The lowest bits of both must be equal. */
static inline bool stack_index_is(uint64_t entry, uint64_t hash)
{
	return (entry ^ hash) >> LIVE_SITE_BITS == 0 && entry;
}

static inline uint32_t stack_index_site(uint64_t entry)
{
	return (uint32_t)entry & (LIVE_SITES - 1);
}

/* Searches one tier. It always has a free entry, where the search ends. */
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
