/* What files of the live table share: counting, and who is counted. */
#ifndef MALLOW_AGENT_LIVE_LIVE_TABLE_H
#define MALLOW_AGENT_LIVE_LIVE_TABLE_H

#include "agent/config.h"
#include "agent/event.h"
#include "agent/live/live_state.h"
#include "agent/live/weight.h"
#include "agent/thread.h"

/* SAMPLE. */
static inline bool live_takes_samples(void)
{
	return config.value[SETTING_SAMPLE] != 0;
}

static inline uint8_t *live_sampled(struct live *live, uint64_t address)
{
	return &live->sampled[(address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 48];
}

/* false: the block at that address is no sample. */
static inline bool live_may_be_sampled(struct live *live, uint64_t address)
{
	return !live_takes_samples() ||
	       __atomic_load_n(live_sampled(live, address), __ATOMIC_RELAXED);
}

/* A sampled block begins, or ends. */
void live_note_sampled(struct live *live, uint64_t address, bool begins);

/* Whether an allocation goes into the table: while off that of a realloc of a block there. */
bool live_wants(struct thread *thread, const struct event *event);

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

void live_count_begin(struct thread *thread, struct live *live, const struct event *event,
		      uint32_t site, uint64_t ticks);

/* The block goes into the table. false: it does not, which is counted. */
bool live_put(struct thread *thread, struct live *live, const struct event *event, uint32_t owner,
	      uint64_t ticks);

#endif
