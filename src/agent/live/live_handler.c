/*
 * Events of signal handlers that interrupted the agent (handler_queue.h). An end counts at once. A
 * new block goes into the table at once, too, so that its end finds it there. Its stack is looked
 * up later.
 */
#include "agent/event/event.h"
#include "agent/ground/clock.h"
#include "agent/live/live.h"
#include "agent/live/live_count.h"
#include "agent/live/live_stack.h"

/*
 * The owner of a block that waits. The ticket is in it so that the next block at the same address
 * is not mistaken for this one.
 */
static uint32_t waiting_owner(struct thread *thread, struct live *live, uint64_t ticket)
{
	return live_owner(SITES_UNKNOWN + (uint32_t)ticket, live_sums(thread, live)->number);
}

bool live_waits(struct thread *thread, struct event *event)
{
	struct live *live = process->live;

	if (event->operation & TRACE_OTHER)
		return true;
	if (event->operation >= TRACE_OP_FREE) {
		if (thread->live)
			live_frees(thread, event->address);
		return false;
	}
	// Without a table this is a child, which begins a table with this event.
	if (!live || !thread->live)
		return true;
	event->ticket = thread->live->tickets++ % SITES_WAITING;
	return live_wants(thread, event->size, event->old_recorded) &&
	       live_put(thread, live, event->address, event->size,
			waiting_owner(thread, live, event->ticket),
			clock_ticks() - live->sites.start_ticks);
}

void live_gives_up(struct thread *thread, const struct event *event)
{
	struct live *live = process->live;
	struct known_block block;

	// Otherwise the block is in no table.
	if (live && thread->live && event->operation < TRACE_OP_FREE)
		live_take(thread, live, event->address, &block);
}

void live_allocated(struct thread *thread, const struct event *event, const uint64_t *frames,
		    uint32_t count)
{
	struct live *live = process->live;
	uint32_t site = SITES_STACKLESS;
	uint64_t ticks;

	if (!live || event->operation >= TRACE_OP_FREE)
		return;
	ticks = clock_ticks() - live->sites.start_ticks;
	if (count && stack_cache_set(&thread->stack, frames, count))
		site = live_stack_site(thread, live);
	live_count_begin(live_sums(thread, live), live, event->size, site, ticks);
	// If the block is not there it was freed meanwhile. The thread's sums have counted that;
	// the site's must count it now.
	if (!block_table_change_owner(&live->blocks, event->address,
				      waiting_owner(thread, live, event->ticket),
				      live_owner(site, live_sums(thread, live)->number)) &&
	    live_has_sums(site))
		sites_free(sites_at(&live->sites, site), weight_of(event->size));
}
