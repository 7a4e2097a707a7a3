#include "agent/record/fact_record.h"

#include <sys/prctl.h>

#include "agent/arch/syscall.h"
#include "agent/event/sink.h"
#include "agent/event/thread.h"
#include "agent/ground/clock.h"
#include "agent/ground/libc.h"
#include "agent/ground/signal_bracket.h"
#include "agent/record/memory_use.h"
#include "agent/record/recording.h"
#include "agent/record/slot.h"

#define TEXT_MAX 32768 /* a chunk's worth; longer texts are cut */

struct reservation {
	struct thread *thread;
	size_t size;
	enum file_use use;
	bool ok;
};

static void reserve_room(void *argument)
{
	struct reservation *reservation = argument;
	struct fact_record sample;

	reservation->ok = slot_roll(reservation->thread, reservation->size, reservation->use);
	if (reservation->ok && memory_use_take_due(&sample))
		fact_record_write(reservation->thread, &sample);
}

static never_inline bool reserve_slow(struct thread *thread, size_t size, enum file_use use)
{
	struct reservation reservation = {thread, size, use, false};

	signal_bracket_run(reserve_room, &reservation);
	return reservation.ok;
}

bool fact_record_reserve(struct thread *thread, size_t size)
{
	while (unlikely((size_t)(thread->limit - thread->cursor) < size))
		if (!thread->cursor || file_is_still_full(&recording->file) ||
		    !reserve_slow(thread, size, FILE_EVENTS))
			return false;
	return true;
}

static bool reserve_needed(struct thread *thread, size_t size)
{
	while (unlikely((size_t)(thread->limit - thread->cursor) < size))
		if (!thread->cursor || !reserve_slow(thread, size, FILE_NEEDED))
			return false;
	return true;
}

/* What becomes of a record while the file is full (STREAM_ONLY). */
enum importance {
	NEEDED,  /* it is written: later events, or all of the recording, cannot do without it */
	EVENT,   /* it is lost, and counted */
	OMITTED, /* it is lost, and not counted: the next one makes up for it */
};

static enum importance importance(uint8_t kind)
{
	switch (kind) {
	case TRACE_RECORD_MEMORY:
	case TRACE_RECORD_TAG: // event_write.c tries again at the next event
		return OMITTED;
	case TRACE_RECORD_MMAP:
	case TRACE_RECORD_MUNMAP:
	case TRACE_RECORD_MREMAP:
	case TRACE_RECORD_BRK:
	case TRACE_RECORD_MALLOPT:
	case TRACE_RECORD_MARK:
	case TRACE_RECORD_FAILED:
	case TRACE_RECORD_POOL_ALLOC:
	case TRACE_RECORD_POOL_FREE:
	case TRACE_RECORD_POOL_RESET:
	case TRACE_RECORD_SURVIVOR:
		return EVENT;
	default:
		return NEEDED;
	}
}

bool fact_record_is_event(uint8_t kind)
{
	return kind & TRACE_OTHER ? importance(kind) == EVENT
				  : kind <= TRACE_OP_DELETE_ARRAY; // no stack, time, resync
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

void fact_record_lost(const struct thread *thread, uint64_t count)
{
	bool stopped = process_state() == PROCESS_STOPPED;

	process_count_losses(stopped                   ? process->loss_if_stopped
			     : !thread->cursor         ? TRACE_LOSS_NO_MEMORY
			     : recording->file.bounded ? TRACE_LOSS_STREAM_BUFFER
						       : TRACE_LOSS_WRITE_FAILED,
			     count);
}

static bool write_needed(struct thread *thread, const struct fact_record *record)
{
	struct slot_admission before = slot_admit(thread);
	bool done = reserve_needed(thread, fact_record_room(record));

	if (done)
		fact_record_put(thread, record);
	slot_close_again(thread, before);
	return done;
}

static bool write_if_room(struct thread *thread, const struct fact_record *record)
{
	bool done = fact_record_reserve(thread, fact_record_room(record));

	if (done)
		fact_record_put(thread, record);
	return done;
}

bool fact_record_write(struct thread *thread, const struct fact_record *record)
{
	enum importance important = importance(record->kind);
	bool done;

	if (!sink_wants(record->kind))
		return true;
	done = important == NEEDED ? write_needed(thread, record) : write_if_room(thread, record);
	// A definition is lost with the event that needs it, and that is counted. A memory sample
	// is nothing that the program did.
	if (!done && record->kind != TRACE_RECORD_FRAME && record->kind != TRACE_RECORD_MODULE &&
	    important != OMITTED)
		fact_record_lost(thread, 1);
	return done;
}

static void write_name(struct thread *thread, enum trace_record kind)
{
	struct fact_record record = {.kind = kind, .has_time = true, .ticks = clock_ticks()};

	if (kind == TRACE_RECORD_THREAD)
		fact_record_add(&record, (uint64_t)thread->tid);
	record.text = thread->name;
	record.text_size = strlen(thread->name);
	fact_record_write(thread, &record);
}

void thread_record_name(struct thread *thread)
{
	char name[sizeof(thread->name)] = "";

	if (process_system_calls_forbidden() || sys_prctl(PR_GET_NAME, (unsigned long)name))
		return;
	if (!strncmp(name, thread->name, sizeof(name)))
		return;
	memcpy(thread->name, name, sizeof(name));
	thread->name[sizeof(name) - 1] = '\0';
	if (!thread->announced)
		return;
	write_name(thread, TRACE_RECORD_THREAD_NAME);
	if (sink->thread_renamed)
		sink->thread_renamed(thread);
}

void thread_record_begin(struct thread *thread)
{
	thread_record_name(thread);
	write_name(thread, TRACE_RECORD_THREAD);
	thread->announced = 1;
	thread_record_tag(thread);
}

void thread_record_tag(struct thread *thread)
{
	struct fact_record record = {
		.kind = TRACE_RECORD_TAG, .has_time = true, .ticks = clock_ticks()};

	if (thread->tag == thread_tag)
		return;
	fact_record_add(&record, thread_tag);
	if (fact_record_write(thread, &record))
		thread->tag = thread_tag;
	else if (thread->cursor)
		// The file is full (STREAM_ONLY). No event may get into the rest of the slot with
		// the old tag.
		thread->limit = thread->cursor;
}

void thread_record_end(struct thread *thread)
{
	fact_record_write(thread, &(struct fact_record){.kind = TRACE_RECORD_THREAD_END,
							.has_time = true,
							.ticks = clock_ticks()});
}
