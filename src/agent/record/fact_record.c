#include "agent/record/fact_record.h"

#include "agent/event/sink.h"
#include "agent/event/thread.h"
#include "agent/ground/libc.h"
#include "agent/ground/signal_bracket.h"
#include "agent/record/memory_use.h"
#include "agent/record/slot.h"

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
		memory_use_if_due(reservation->thread);
}

static never_inline bool reserve_slow(struct thread *thread, size_t size)
{
	struct reservation reservation = {thread, size, false};

	signal_bracket_run(reserve, &reservation);
	return reservation.ok;
}

bool fact_record_reserve(struct thread *thread, size_t size)
{
	while (unlikely((size_t)(thread->limit - thread->cursor) < size))
		if (!thread->cursor || !reserve_slow(thread, size))
			return false;
	return true;
}

static size_t text_size(const struct fact_record *record)
{
	return record->text_size < TEXT_MAX ? record->text_size : TEXT_MAX;
}

size_t fact_record_room(const struct fact_record *record)
{
	return 1 + VARINT_MAX + (1 + FACT_RECORD_FIELDS) * VARINT_MAX + text_size(record);
}

void fact_record_put(struct thread *thread, const struct fact_record *record)
{
	uint8_t fields[(1 + FACT_RECORD_FIELDS) * VARINT_MAX];
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

void fact_record_lost(uint64_t count)
{
	bool stopped = process_state() == PROCESS_STOPPED;

	process_count_losses(stopped ? process->loss_if_stopped : TRACE_LOSS_NO_MEMORY, count);
}

bool fact_record_write(struct thread *thread, const struct fact_record *record)
{
	if (!sink_wants(record->kind))
		return true;
	if (!fact_record_reserve(thread, fact_record_room(record))) {
		fact_record_lost(1);
		return false;
	}
	fact_record_put(thread, record);
	return true;
}
