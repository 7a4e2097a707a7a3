#include "agent/record/fact_here.h"

#include "agent/event/sink.h"
#include "agent/event/thread.h"
#include "agent/record/event_write.h"
#include "agent/record/recording.h"

void fact_here_write(struct thread *thread, const struct fact_record *record,
		     const struct unwind_state *state)
{
	if (toggle_is_off())
		return;
	fact_here_write_kept(thread, record, state);
}

/* Whether the stream's stack is that of the last capture. Not if its record found no room. */
static bool has_stack(const struct thread *thread)
{
	return thread->depth == thread->stack.shared && thread->depth == thread->stack.depth;
}

void fact_here_write_kept(struct thread *thread, const struct fact_record *record,
			  const struct unwind_state *state)
{
	const struct event stack = {.operation = TRACE_OP_STACK};

	if (!sink_wants(record->kind))
		return;
	// The stack and its record must lie in one chunk, since a new chunk begins with another
	// stack.
	if (!fact_record_reserve(thread, fact_record_room(record) + 1024))
		return fact_record_lost(thread, 1);
	event_write_here(thread, &stack, state);
	if ((size_t)(thread->limit - thread->cursor) < fact_record_room(record)) {
		if (!fact_record_reserve(thread, fact_record_room(record)))
			return fact_record_lost(thread, 1);
		event_write_here(thread, &stack, state);
	}
	// The loss of the stack's record counts as that of both.
	if (recording->file.bounded && thread->cursor && !has_stack(thread))
		return;
	if ((size_t)(thread->limit - thread->cursor) >= fact_record_room(record))
		fact_record_put(thread, record);
	else
		fact_record_lost(thread, 1);
}
