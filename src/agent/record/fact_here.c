#include "agent/record/fact_here.h"

#include "agent/event/sink.h"
#include "agent/event/thread.h"
#include "agent/record/event_write.h"

void fact_here_write(struct thread *thread, const struct fact_record *record,
		     const struct unwind_state *state)
{
	if (toggle_is_off())
		return;
	fact_here_write_kept(thread, record, state);
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
		return fact_record_lost(1);
	event_write_here(thread, &stack, state);
	if ((size_t)(thread->limit - thread->cursor) < fact_record_room(record)) {
		if (!fact_record_reserve(thread, fact_record_room(record)))
			return fact_record_lost(1);
		event_write_here(thread, &stack, state);
	}
	if ((size_t)(thread->limit - thread->cursor) >= fact_record_room(record))
		fact_record_put(thread, record);
	else
		fact_record_lost(1);
}
