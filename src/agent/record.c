#include "agent/record.h"

#include "agent/clock.h"
#include "agent/event.h"
#include "agent/libc.h"
#include "agent/live/live.h"
#include "agent/process.h"
#include "agent/sample.h"
#include "agent/slot.h"
#include "agent/slow.h"
#include "agent/thread.h"
#include "agent/toggle.h"

#define TEXT_MAX 32768 /* a chunk's worth; longer texts are cut */

struct reservation {
	struct thread *thread;
	size_t size;
	bool ok;
};

static void reserve(void *argument)
{
	struct reservation *reservation = argument;

	reservation->ok = slot_roll(reservation->thread, reservation->size);
	if (reservation->ok)
		sample_if_due(reservation->thread);
}

static never_inline bool reserve_slow(struct thread *thread, size_t size)
{
	struct reservation reservation = {thread, size, false};

	slow_run(reserve, &reservation);
	return reservation.ok;
}

bool record_reserve(struct thread *thread, size_t size)
{
	while (unlikely((size_t)(thread->limit - thread->cursor) < size))
		if (!thread->cursor || !reserve_slow(thread, size))
			return false;
	return true;
}

static size_t text_size(const struct record *record)
{
	return record->text_size < TEXT_MAX ? record->text_size : TEXT_MAX;
}

/* More than it can take. */
static size_t record_room(const struct record *record)
{
	return 1 + VARINT_MAX + (1 + RECORD_FIELDS) * VARINT_MAX + text_size(record);
}

/* There is room. */
static void put(struct thread *thread, const struct record *record)
{
	uint8_t fields[(1 + RECORD_FIELDS) * VARINT_MAX];
	uint8_t *end = fields;
	uint8_t *p = thread->cursor;
	size_t size;

	if (record->has_time)
		end = varint_put(end, zigzag((int64_t)(record->ticks - thread->chunk->base_ticks)));
	for (int i = 0; i < record->count; i++)
		end = varint_put(end, record->fields[i]);
	event_clock_expire(&thread->clock);
	size = (size_t)(end - fields);
	*p++ = record->kind;
	p = varint_put(p, size + text_size(record));
	memcpy(p, fields, size);
	p += size;
	if (record->text)
		memcpy(p, record->text, text_size(record));
	thread_commit(thread, p + text_size(record));
}

void record_lost(void)
{
	process_count_loss(process->loss_if_stopped);
}

bool record_write(struct thread *thread, const struct record *record)
{
	if (live_is_on() && !live_writes_record(record->kind))
		return true;
	if (!record_reserve(thread, record_room(record))) {
		record_lost();
		return false;
	}
	put(thread, record);
	return true;
}

void record_write_here(struct thread *thread, const struct record *record,
		       const struct unwind_state *state)
{
	if (toggle_is_off())
		return;
	record_write_kept_here(thread, record, state);
}

void record_write_kept_here(struct thread *thread, const struct record *record,
			    const struct unwind_state *state)
{
	const struct event stack = {.operation = TRACE_OP_STACK};

	if (live_is_on())
		return;
	// The stack and its record must lie in one chunk: a new one begins with another stack.
	if (!record_reserve(thread, record_room(record) + 1024))
		return record_lost();
	event_write_here(thread, &stack, state);
	if ((size_t)(thread->limit - thread->cursor) < record_room(record)) {
		if (!record_reserve(thread, record_room(record)))
			return record_lost();
		event_write_here(thread, &stack, state);
	}
	if ((size_t)(thread->limit - thread->cursor) >= record_room(record))
		put(thread, record);
	else
		record_lost();
}
