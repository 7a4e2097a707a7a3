/* The sink that holds young blocks back (cull.h), in front of the recording's. */
#include "agent/cull/cull.h"

#include "agent/event/admission.h"
#include "agent/event/sink.h"
#include "agent/event/thread.h"
#include "agent/record/event_write.h"
#include "agent/record/fact_record.h"
#include "agent/record/record_sink.h"

/* Writes the event or holds it back. replaced: a realloc's old entry; 0: not held back. */
static void write_or_hold(struct thread *thread, struct event *event, uint32_t replaced,
			  const struct unwind_state *state)
{
	if (replaced && event->operation == TRACE_OP_FREE) { // admission dropped the new block
		if (!cull_ends_taken(thread, replaced, event->address, event->ticks, false))
			event_write_end(thread, event, state);
		return;
	}
	if (!event_capture_with_ids(thread, state)) {
		if (replaced)
			cull_gives_up(thread, replaced, event->old_address);
		return;
	}
	if (event->operation > TRACE_OP_LAST_ALLOCATION && !replaced) {
		event_write_any(thread, event, true);
		cull_notes(thread, event);
	} else if (!cull_holds(thread, event, replaced)) {
		event_write_any(thread, event, true);
	}
}

/* Handles what admission has made of an event. */
static void write_kept(struct thread *thread, struct event *event, uint32_t replaced,
		       const struct unwind_state *state)
{
	thread_record_tag(thread);
	if (replaced || event->operation < TRACE_OP_FREE)
		write_or_hold(thread, event, replaced, state);
	else if (event->operation == TRACE_OP_FREE)
		event_write_end(thread, event, state);
	else
		event_write_slow(thread, event, state);
}

static void take_allocation(struct thread *thread, const struct event *event,
			    const struct unwind_state *state)
{
	struct event kept = *event;
	uint32_t replaced = thread->replaced;

	thread->replaced = 0;
	if (!thread->cursor) // wiped, as in record_sink.c
		return event_lose(thread);
	if (admission_keeps(thread, &kept)) {
		write_kept(thread, &kept, replaced, state);
	} else {
		thread->within = 0;
		if (replaced)
			cull_gives_up(thread, replaced, event->old_address);
	}
	cull_look_around(thread, event->ticks);
}

static void take_end(struct thread *thread, uint8_t operation, uint64_t ticks, uint64_t address)
{
	struct event event = {.operation = operation, .ticks = ticks, .address = address};
	struct unwind_state state;

	if (!thread->cursor)
		return event_lose(thread);
	if (!thread->outer.sp)
		return;
	if (admission_keeps(thread, &event) && !cull_ends(thread, address, ticks, false)) {
		state = thread_caller(thread);
		event_write_end(thread, &event, &state);
	}
	cull_look_around(thread, ticks);
}

static uint32_t realloc_begin(struct thread *thread, const void *old)
{
	uint32_t before = record_realloc_begin(thread, old);
	uint32_t entry = before == SINK_RECORDED ? cull_takes(thread, arch_address(old)) : 0;

	return entry ? SINK_HELD + entry : before;
}

static void realloc_fail(struct thread *thread, const void *old, uint32_t before)
{
	record_realloc_fail(thread, old, before);
	if (before > SINK_HELD)
		cull_puts_back(thread, before - SINK_HELD, arch_address(old));
}

static bool realloc_end(struct thread *thread, uint32_t before, struct event *event,
			bool in_handler)
{
	uint32_t entry = before - SINK_HELD, replaced;

	if (before <= SINK_HELD)
		return record_realloc_end(thread, before, event, in_handler);
	if (event->operation == TRACE_OP_FREE)
		return !cull_ends_taken(thread, entry, event->address, event->ticks, in_handler);
	replaced = cull_replaces(thread, entry, event->old_address, in_handler);
	if (replaced)
		thread->replaced = replaced;
	else
		admission_make_allocation(event);
	return true;
}

/* A block that begins in a handler is not held back. One that ends there may be. */
static bool waits_in_handler(struct thread *thread, struct event *event)
{
	if (!record_waits(thread, event))
		return false;
	if (event->operation & TRACE_OTHER)
		return true;
	if (event->operation >= TRACE_OP_FREE)
		return !cull_ends(thread, event->address, event->ticks, true);
	cull_forgets_newest(thread);
	return true;
}

const struct sink cull_sink = {
	.takes_all = true,
	.exact_times = true,
	.thread_end = cull_thread_ends,
	.allocate = take_allocation,
	.end = take_end,
	.realloc_begin = realloc_begin,
	.realloc_fail = realloc_fail,
	.realloc_end = realloc_end,
	.waits = waits_in_handler,
	.waited = record_waited,
	.write_held = cull_write_all,
	.finish = cull_finish,
	.resume = cull_resume,
	.stop = cull_lose,
};
