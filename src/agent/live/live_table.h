/* What files of the live table share: counting, and who is counted. */
#ifndef MALLOW_AGENT_LIVE_LIVE_TABLE_H
#define MALLOW_AGENT_LIVE_LIVE_TABLE_H

#include "agent/config.h"
#include "agent/filter.h"
#include "agent/live/live_sampled.h"
#include "agent/live/live_state.h"
#include "agent/live/weight.h"
#include "agent/thread.h"
#include "agent/toggle.h"

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

/* Whether an allocation goes into the table: while off that of a realloc of a block there. */
static inline bool live_wants(struct thread *thread, uint64_t size, bool old_recorded)
{
	return (!toggle_is_off() || old_recorded) &&
	       (!live_takes_samples() || filter_samples(thread, size));
}

void live_settle_thread_slow(struct thread *thread, struct live *live);

/* The thread's number in the table. */
static inline uint32_t live_number(struct thread *thread, struct live *live)
{
	if (unlikely(!thread->live->settled))
		live_settle_thread_slow(thread, live);
	return thread->live->number;
}

static inline uint32_t live_owner(uint32_t site, uint32_t thread)
{
	return site << LIVE_THREAD_BITS | thread;
}

/* One without stacks has none of its own, and of one that waits for its stack nobody knows them. */
static inline bool live_has_sums(uint32_t site)
{
	return !config_stackless() && site < SITES_UNKNOWN;
}

/* A block that is out of the table: the thread has ended it. */
static inline __attribute__((always_inline)) void
live_count_end(struct thread *thread, struct live *live, const struct known_block *block)
{
	uint32_t site = block->owner >> LIVE_THREAD_BITS;
	struct weight weight = weight_of(block->size);

	if (likely(live_has_sums(site)))
		sites_free(sites_at(&live->sites, site), weight);
	live_threads_free(&live->threads, live_number(thread, live),
			  block->owner & (LIVE_THREADS - 1), weight);
}

void live_count_begin(struct thread *thread, struct live *live, uint64_t size, uint32_t site,
		      uint64_t ticks);

bool live_put_slow(struct thread *thread, struct live *live, uint64_t address,
		   const struct known_block *block);

/* The block goes into the table. false: it does not, which is counted. */
static inline __attribute__((always_inline)) bool live_put(struct thread *thread, struct live *live,
							   uint64_t address, uint64_t size,
							   uint32_t owner, uint64_t ticks)
{
	const struct known_block block = {
		.owner = owner,
		.time = block_table_time(ticks, size),
		.size = size,
	};

	return (likely(!live_takes_samples()) &&
		block_near_put(&thread->live->near, address, &block)) ||
	       live_put_slow(thread, live, address, &block);
}

#endif
