#include "agent/live/live.h"

#include "agent/clock.h"
#include "agent/event.h"
#include "agent/guard.h"
#include "agent/live/live_hook.h"
#include "agent/live/live_reports.h"
#include "agent/live/live_stack.h"
#include "agent/live/live_table.h"
#include "agent/process.h"

// Without stacks allocations have no time: so many from one look at the clock to the next.
#define STACKLESS_LOOKS 4096

never_inline bool live_put_slow(struct thread *thread, struct live *live, uint64_t address,
				const struct known_block *block)
{
	struct known_block stale;

	if (!block_table_put(&live->blocks, &thread->live->near, address, block, &stale)) {
		process_count_loss(TRACE_LOSS_NO_MEMORY);
		return false;
	}
	if (live_takes_samples())
		live_sampled_note(address, true);
	if (unlikely(stale.owner))
		live_count_end(thread, live, &stale);
	return true;
}

void live_count_begin(struct thread *thread, struct live *live, uint64_t size, uint32_t site,
		      uint64_t ticks)
{
	struct weight weight = weight_of(size);

	if (live_has_sums(site))
		sites_allocate(sites_at(&live->sites, site), weight, ticks);
	live_threads_allocate(&live->threads, live_number(thread, live), weight);
}

/* A store to one byte of `unusual` would delay the next look at all of them. */
static inline void forget_within(struct thread *thread)
{
	if (unlikely(thread->within))
		thread->within = 0;
}

static never_inline void add_slow(struct thread *thread, struct live *live, uint64_t address,
				  uint64_t size, const struct unwind_state *state)
{
	uint32_t site = SITES_STACKLESS;
	uint64_t ticks;

	if (event_capture(thread, state))
		site = live_stack_site(thread, live);
	ticks = clock_ticks() - live->start_ticks;
	if (live_put(thread, live, address, size, live_owner(site, live_number(thread, live)),
		     ticks))
		live_count_begin(thread, live, size, site, ticks);
	live_reports_look(live, ticks);
}

/* Without a stack and a time: the sums of the only site are those of the threads. */
static inline void add_stackless(struct thread *thread, struct live *live, uint64_t address,
				 uint64_t size)
{
	uint32_t number = live_number(thread, live);

	forget_within(thread);
	if (live_put(thread, live, address, size, live_owner(SITES_STACKLESS, number), 0))
		live_threads_allocate(&live->threads, number, weight_of(size));
	if (unlikely(thread->live->looks++ % STACKLESS_LOOKS == 0))
		live_reports_look(live, clock_ticks() - live->start_ticks);
}

/* One that is wanted. */
static inline void add(struct thread *thread, struct live *live, uint64_t address, uint64_t size,
		       const struct unwind_state *state)
{
	if (config_stackless())
		add_stackless(thread, live, address, size);
	else
		add_slow(thread, live, address, size, state);
}

void live_allocates(struct thread *thread, const struct event *event,
		    const struct unwind_state *state)
{
	struct live *live = process->live;

	if (live && live_wants(thread, event->size, event->old_recorded))
		add(thread, live, event->address, event->size, state);
	else
		forget_within(thread);
}

never_inline void live_allocates_here(struct thread *thread, const struct unwind_state *state,
				      const void *block, uint64_t size)
{
	struct live *live;

	guard_begin_record(thread);
	live = process->live;
	// A child may have come back here from a handler that forked: without a slot, as in
	// event.c.
	if (likely(live && thread->cursor && block) && live_wants(thread, size, false))
		add(thread, live, (uint64_t)block, size, state);
	guard_end_record(thread);
}

static never_inline void free_slow(struct thread *thread, struct live *live, uint64_t address)
{
	struct known_block block;

	if (!block_table_take(&live->blocks, &thread->live->near, address, &block))
		return;
	if (live_takes_samples())
		live_sampled_note(address, false);
	live_count_end(thread, live, &block);
}

void live_frees(struct thread *thread, uint64_t address)
{
	struct live *live = process->live;
	struct known_block block;

	if (unlikely(!live) || !live_may_have(address))
		return;
	if (likely(!live_takes_samples()) && block_near_take(&thread->live->near, address, &block))
		live_count_end(thread, live, &block);
	else
		free_slow(thread, live, address);
}

never_inline void live_ends_here(struct thread *thread, const void *block)
{
	guard_begin_record(thread);
	if (likely(thread->cursor && thread->outer))
		live_frees(thread, (uint64_t)block);
	guard_end_record(thread);
}
