#include "agent/live/live.h"

#include "agent/clock.h"
#include "agent/filter.h"
#include "agent/live/live_reports.h"
#include "agent/live/live_stack.h"
#include "agent/live/live_table.h"
#include "agent/process.h"
#include "agent/toggle.h"

// Without stacks allocations have no time: so many from one look at the clock to the next.
#define STACKLESS_LOOKS 4096

void live_note_sampled(struct live *live, uint64_t address, bool begins)
{
	uint8_t *place = live_sampled(live, address);
	uint8_t count = __atomic_load_n(place, __ATOMIC_RELAXED), next;

	do {
		if (count == UINT8_MAX)
			return;
		next = (uint8_t)(begins ? count + 1 : count - 1);
	} while (!__atomic_compare_exchange_n(place, &count, next, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
}

bool live_put(struct thread *thread, struct live *live, const struct event *event, uint32_t owner,
	      uint64_t ticks)
{
	const struct known_block block = {
		.owner = owner,
		.time = block_table_time(ticks, event->size),
		.size = event->size,
	};
	struct known_block stale;

	if (unlikely(!block_table_put(&live->blocks, &thread->live->near, event->address, &block,
				      &stale))) {
		process_count_loss(TRACE_LOSS_NO_MEMORY);
		return false;
	}
	if (live_takes_samples())
		live_note_sampled(live, event->address, true);
	if (unlikely(stale.owner))
		live_count_end(thread, live, &stale);
	return true;
}

bool live_wants(struct thread *thread, const struct event *event)
{
	return (!toggle_is_off() || event->old_recorded) &&
	       (!live_takes_samples() || filter_samples(thread, event->size));
}

void live_count_begin(struct thread *thread, struct live *live, const struct event *event,
		      uint32_t site, uint64_t ticks)
{
	struct weight weight = weight_of(event->size);

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

/* Of one that is wanted. */
static never_inline void add_slow(struct thread *thread, struct live *live,
				  const struct event *event, const struct unwind_state *state)
{
	uint32_t site = SITES_STACKLESS;
	uint64_t ticks;

	if (event_capture(thread, state))
		site = live_stack_site(thread, live);
	ticks = clock_ticks() - live->start_ticks;
	if (live_put(thread, live, event, live_owner(site, live_number(thread, live)), ticks))
		live_count_begin(thread, live, event, site, ticks);
	live_reports_look(live, ticks);
}

/* Without a stack and a time: the sums of the only site are those of the threads. */
static void add_stackless(struct thread *thread, struct live *live, const struct event *event)
{
	uint32_t number = live_number(thread, live);

	forget_within(thread);
	if (live_put(thread, live, event, live_owner(SITES_STACKLESS, number), 0))
		live_threads_allocate(&live->threads, number, weight_of(event->size));
	if (unlikely(thread->live->looks++ % STACKLESS_LOOKS == 0))
		live_reports_look(live, clock_ticks() - live->start_ticks);
}

void live_allocates(struct thread *thread, const struct event *event,
		    const struct unwind_state *state)
{
	struct live *live = process->live;

	if (likely(live_takes_samples() && filter_passes_over(&thread->filter, event->size)) ||
	    !live_wants(thread, event) || unlikely(!live)) {
		forget_within(thread);
		return;
	}
	if (config_stackless())
		add_stackless(thread, live, event);
	else
		add_slow(thread, live, event, state);
}

void live_frees(struct thread *thread, uint64_t address)
{
	struct live *live = process->live;
	struct known_block block;

	if (unlikely(!live) || !live_may_be_sampled(live, address) ||
	    !block_table_take(&live->blocks, &thread->live->near, address, &block))
		return;
	if (live_takes_samples())
		live_note_sampled(live, address, false);
	live_count_end(thread, live, &block);
}
