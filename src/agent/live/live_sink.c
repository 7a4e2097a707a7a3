#include "agent/live/live_sink.h"

#include "agent/event/event.h"
#include "agent/event/thread.h"
#include "agent/live/live.h"
#include "agent/live/live_sampled.h"
#include "agent/live_blocks/live_memory.h"
#include "agent/record/event_write.h"
#include "agent/record/record_sink.h"

static void allocate(struct thread *thread, const struct event *event,
		     const struct unwind_state *state)
{
	if (likely(thread->cursor != NULL))
		live_allocates(thread, event, state);
	else
		event_lose(thread); // wiped, as in record_sink.c
}

static void end(struct thread *thread, uint8_t operation, uint64_t ticks, uint64_t address)
{
	if (!thread->cursor)
		event_lose(thread);
	else if (likely(thread->outer))
		live_frees(thread, address);
}

/* The old block ended when the realloc began. */
static bool realloc_end(struct thread *thread, uint32_t before, struct event *event,
			bool in_handler)
{
	return event->operation != TRACE_OP_FREE;
}

static void waited(struct thread *thread, const struct event *event, const uint64_t *frames,
		   uint32_t count)
{
	if (event->operation & TRACE_OTHER)
		record_waited(thread, event, frames, count);
	else
		live_allocated(thread, event, frames, count);
}

/* Only records that stacks name, and facts of the process (docs/trace-format.md, 4.2). */
static bool wants(uint8_t kind)
{
	switch (kind) {
	case TRACE_RECORD_FRAME:
	case TRACE_RECORD_MODULE:
	case TRACE_RECORD_MODULE_GONE:
	case TRACE_RECORD_PROCESS:
	case TRACE_RECORD_END:
	case TRACE_RECORD_UNSEEN:
		return true;
	default:
		return false;
	}
}

/* Without samples every end comes here anyway. */
static void watch(uint64_t address)
{
	if (live_way == LIVE_WAY_SAMPLES)
		live_sampled_watch(address);
}

static void ended(enum trace_end reason)
{
	if (reason != TRACE_END_EXEC)
		live_report_at_end();
}

const struct sink live_sink = {
	.takes_all = true,
	.knows_blocks = true,
	.begin = live_begin,
	.start = live_starts,
	.thread_size = live_thread_size,
	.thread_begin = live_thread_prepare,
	.thread_end = live_thread_leaves,
	.thread_renamed = live_thread_leaves,
	.allocate = allocate,
	.end = end,
	.realloc_begin = live_begins_realloc,
	.realloc_fail = live_fails_realloc,
	.realloc_end = realloc_end,
	.waits = live_waits,
	.give_up = live_gives_up,
	.waited = waited,
	.wants = wants,
	.watch = watch,
	.ended = ended,
	.detach = live_memory_detach,
};
