#include "agent/record/record_sink.h"

#include "agent/event/admission.h"
#include "agent/event/thread.h"
#include "agent/record/event_write.h"
#include "agent/record/fact_record.h"

/* For a thread with thread->selective: admission.h decides what becomes of the event. */
static void allocate_selected(struct thread *thread, const struct event *event,
			      const struct unwind_state *state)
{
	struct event kept = *event;

	if (!admission_keeps(thread, &kept)) {
		thread->within = 0;
		return;
	}
	thread_record_tag(thread);
	if (kept.operation == TRACE_OP_FREE)
		event_write_end(thread, &kept, state);
	else
		event_write_slow(thread, &kept, state);
}

static void take_allocation(struct thread *thread, const struct event *event,
			    const struct unwind_state *state)
{
	// This is a child: a handler that interrupted the real malloc forked, and came back here.
	// The thread was wiped.
	if (!thread->cursor)
		event_lose(thread);
	else if (thread->selective)
		allocate_selected(thread, event, state);
	else
		event_write_slow(thread, event, state);
}

static void take_end(struct thread *thread, uint8_t operation, uint64_t ticks, uint64_t address)
{
	struct event event = {.operation = operation, .ticks = ticks, .address = address};
	struct unwind_state state;

	// As above. And if the child has begun a recording before it came back, the thread is there
	// but its guard is not set. Then the block is from before the fork, and not in this
	// recording.
	if (!thread->cursor)
		return event_lose(thread);
	if (!thread->outer.sp || (thread->selective && !admission_keeps(thread, &event)))
		return;
	state = thread_caller(thread);
	event_write_end(thread, &event, &state);
}

uint32_t record_realloc_begin(struct thread *thread, const void *old)
{
	return old && admission_ends(old) ? SINK_RECORDED : SINK_UNKNOWN;
}

void record_realloc_fail(struct thread *thread, const void *old, uint32_t before)
{
	admission_restores(old, before >= SINK_RECORDED);
}

bool record_realloc_end(struct thread *thread, uint32_t before, struct event *event,
			bool in_handler)
{
	return event->operation != TRACE_OP_FREE || before >= SINK_RECORDED;
}

bool record_waits(struct thread *thread, struct event *event)
{
	return !thread->selective || admission_keeps(thread, event);
}

/* Records that are no events: from toggle.c and the C API. */
static void write_record(struct thread *thread, const struct event *event)
{
	struct fact_record record = {
		.kind = event->operation, .has_time = true, .ticks = event->ticks};

	if (record.kind == TRACE_RECORD_TAG)
		thread_record_tag(thread);
	else
		fact_record_write(thread, &record);
}

void record_waited(struct thread *thread, const struct event *event, const uint64_t *frames,
		   uint32_t count)
{
	if (event->operation & TRACE_OTHER)
		write_record(thread, event);
	else if (event->operation >= TRACE_OP_FREE && !thread->free_stacks)
		event_write_end(thread, event, NULL);
	else
		event_write(thread, event, frames, count);
}

const struct sink record_sink = {
	.allocate = take_allocation,
	.end = take_end,
	.realloc_begin = record_realloc_begin,
	.realloc_fail = record_realloc_fail,
	.realloc_end = record_realloc_end,
	.waits = record_waits,
	.waited = record_waited,
};
