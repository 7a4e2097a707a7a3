/* What the files of this room share: counting, and who is counted. */
#ifndef MALLOW_AGENT_LIVE_LIVE_COUNT_H
#define MALLOW_AGENT_LIVE_LIVE_COUNT_H

#include "agent/event/admission.h"
#include "agent/event/thread.h"
#include "agent/ground/config.h"
#include "agent/ground/next_functions.h"
#include "agent/live/live_state.h"
#include "agent/live/live_sampled.h"
#include "agent/live_blocks/block_table_fast.h"

/* SAMPLE. */
static inline bool live_takes_samples(void)
{
	return config.value[SETTING_SAMPLE] != 0;
}

/* false: no block at that address is in the table. */
static inline bool live_may_have(uint64_t address)
{
	return !live_takes_samples() || live_sampled_has(address);
}

/*
 * Whether an allocation goes into the table. While recording is off, only the realloc of a block
 * that is there does.
 */
static inline bool live_wants(struct thread *thread, uint64_t size, bool old_recorded)
{
	return (!toggle_is_off() || old_recorded) &&
	       (!live_takes_samples() || admission_samples(thread, size));
}

void live_settle_thread_slow(struct thread *thread, struct live *live);

/* The sums that the thread counts in, and its number. */
static inline const struct live_sums *live_sums(struct thread *thread, struct live *live)
{
	if (unlikely(!thread->live->sums.allocated))
		live_settle_thread_slow(thread, live);
	return &thread->live->sums;
}

static inline uint32_t live_owner(uint32_t site, uint32_t thread)
{
	return site << LIVE_THREAD_BITS | thread;
}

/*
 * Whether the site has sums. Without stacks the only site has none of its own; a block that waits
 * for its stack has no site yet.
 */
static inline bool live_has_sums(uint32_t site)
{
	return !config_stackless() && site < SITES_UNKNOWN;
}

/* Counts the end of a block that was taken out of the table, by the thread of those sums. */
static inline __attribute__((always_inline)) void
live_count_end_as(bool own, const struct live_sums *sums, struct live *live,
		  const struct known_block *block, struct weight weight)
{
	uint32_t site = block->owner >> LIVE_THREAD_BITS;

	if (likely(live_has_sums(site)))
		sites_free(sites_at(&live->sites, site), weight);
	live_threads_free_as(own, sums, block->owner & (LIVE_THREADS - 1), weight);
}

static inline void live_count_end(struct thread *thread, struct live *live,
				  const struct known_block *block)
{
	const struct live_sums *sums = live_sums(thread, live);

	live_count_end_as(live_threads_own(sums), sums, live, block, weight_of(block->size));
}

/* Counts a block that was put in, by the thread of those sums. Returns as sites_allocate(). */
static inline bool live_count_begin(const struct live_sums *sums, struct live *live, uint64_t size,
				    uint32_t site, uint64_t ticks)
{
	struct weight weight = weight_of(size);

	live_threads_allocate(sums, weight);
	return likely(live_has_sums(site)) &&
	       sites_allocate(&live->sites, site, sums->tag, weight, ticks);
}

/*
 * Puts a block into the table. false: no memory, which is counted. live_put_fast(): only the
 * ordinary case, without samples; head as for block_table_put_fast(). false: call live_put().
 */
bool live_put(struct thread *thread, struct live *live, uint64_t address, uint64_t size,
	      uint32_t owner, uint64_t ticks);

static inline __attribute__((always_inline)) bool
live_put_fast(const struct live_own *own, const struct live *live, const uint32_t *head,
	      uint64_t address, uint64_t size, uint32_t owner, uint64_t ticks)
{
	const struct known_block block = {
		.owner = owner, .time = block_table_time(ticks, size), .size = size};

	return block_table_put_fast(&live->blocks, &own->near, head, address, &block,
				    real.blocks_are_apart);
}

/*
 * Takes a block out of the table. false: it is not there. live_take_fast(): only the ordinary case;
 * false: call live_take().
 */
bool live_take(struct thread *thread, struct live *live, uint64_t address, struct known_block *ret);

static inline bool live_take_fast(const struct live_own *own, const struct live *live,
				  uint64_t address, struct known_block *ret)
{
	return block_table_take_fast(&live->blocks, &own->near, address, ret);
}

#endif
