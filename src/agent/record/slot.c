#include "agent/record/slot.h"

#include "agent/arch/syscall.h"
#include "agent/event/thread.h"
#include "agent/ground/clock.h"
#include "agent/ground/libc.h"
#include "agent/ground/log.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/own_place.h"
#include "agent/ground/signal_bracket.h"
#include "agent/record/fact_record.h"
#include "agent/record/file.h"
#include "agent/record/process_stop.h"
#include "agent/record/recording.h"
#include "base/bytes.h"
#include "trace/checksum.h"
#include "trace/format.h"

#define CHUNK_OVERHEAD (sizeof(struct trace_chunk) + TRACE_TRAILER_SIZE)
#define PLACE_MAX      (2 + 2 * VARINT_MAX + TRACE_PLACE_ID) /* put_place() */

static bool slots_private(void)
{
	return process->header->flags & TRACE_PRIVATE_SLOTS;
}

static uint32_t committed(const struct trace_chunk *chunk)
{
	return (uint32_t)chunk->commit;
}

static uint32_t sequence_of(uint64_t commit)
{
	return (uint32_t)(commit >> 32);
}

static void set_commit(struct trace_chunk *chunk, uint32_t sequence, uint32_t size)
{
	__atomic_store_n(&chunk->commit, trace_commit_word(sequence, size), __ATOMIC_RELEASE);
}

/*
 * Whether it is a live table: then all of it stays mapped, so that a core dump has all of it. Not
 * if the file could not be mapped at all, and slots are copied into it.
 */
static bool stays_mapped(void)
{
	return config_is_live() && !slots_private();
}

/* The first record of a live table's chunk says where the chunk is (section 10.2). */
static void put_place(struct thread *thread)
{
	struct fact_record record = {
		.kind = TRACE_RECORD_PLACE, .text = process_id, .text_size = TRACE_PLACE_ID};

	fact_record_add(&record, thread->slot_offset);
	fact_record_add(&record, (uintptr_t)thread->chunk);
	fact_record_put(thread, &record);
}

/*
 * Begins the chunk thread->sequence in the slot. The commit word comes first: from then on nobody
 * reads the old payload. A new slot gets its magic last.
 */
static void open_chunk(struct thread *thread)
{
	struct trace_chunk *chunk = thread->chunk;
	size_t room = thread->slot_size - CHUNK_OVERHEAD;

	set_commit(chunk, thread->sequence, 0);
	if (!thread->sequence)
		__atomic_add_fetch(&process->streams_begun, 1, __ATOMIC_RELAXED);
	// A chunk begins with an empty stack, unless the stack is deep: written again into every
	// chunk it would fill it. Then the chunk takes over the stack of the one before (section
	// 5).
	if (thread->resync || thread->depth * 5 <= room / 4)
		thread->depth = thread->stack.shared = 0;
	chunk->kind = TRACE_CHUNK_EVENTS;
	chunk->size = thread->slot_size;
	chunk->stream = thread->stream;
	chunk->flags = TRACE_CHUNK_SLOT;
	chunk->open_ticks = clock_ticks();
	chunk->open_monotonic_ns = process_system_calls_forbidden() ? 0 : clock_monotonic_ns();
	chunk->base_ticks = chunk->open_ticks;
	chunk->carried = thread->depth;
	__atomic_store_n(&chunk->magic, TRACE_CHUNK_MAGIC, __ATOMIC_RELEASE);

	thread->encoder = (struct trace_encoder){.time = chunk->base_ticks};
	thread->resync = 0;
	thread->cursor = (uint8_t *)(chunk + 1);
	thread->limit = (uint8_t *)chunk + thread->slot_size - TRACE_TRAILER_SIZE;
	if (stays_mapped())
		put_place(thread);
}

static bool stop(struct thread *thread, enum file_result result)
{
	process_stop_for_file(result);
	if (result != FILE_OK && slots_private())
		// All events of the slot count as one loss.
		process_count_loss(process->loss_if_stopped);
	thread->cursor = NULL;
	thread->limit = NULL;
	return false;
}

static void *private_memory(size_t size)
{
	void *memory = own_pages_allocate(size);

	if (memory && !process_system_calls_forbidden())
		sys_madvise(memory, size, MADV_DONTFORK);
	return memory;
}

static bool map_new(struct thread *thread, uint32_t size)
{
	enum file_result result = FILE_WRITE_FAILED;
	void *memory;

	if (slots_private()) {
		memory = private_memory(size);
		if (!memory)
			return false;
	} else {
		memory = file_map_slot(&recording->file, size, &thread->slot_offset, &result);
		if (!memory)
			return stop(thread, result);
	}
	thread->chunk = memory;
	thread->slot_size = size;
	return true;
}

/* Logs what a thread does with its slot. */
static void log_slot(const struct thread *thread, enum setting_log level, const char *what)
{
	if (!log_wants(level))
		return;
	log_start(level);
	log_string("stream ");
	log_number(thread->stream);
	log_string(" ");
	log_string(what);
	log_string(" of ");
	log_number(thread->slot_size);
	log_string(" bytes, chunk ");
	log_number(thread->sequence);
	log_end();
}

static uint8_t *end_of_room(const struct thread *thread)
{
	return (uint8_t *)thread->chunk + thread->slot_size - TRACE_TRAILER_SIZE;
}

static bool is_full(void)
{
	return __atomic_load_n(&recording->file.full, __ATOMIC_RELAXED);
}

/* Sets the cursor to the end of what is committed. A slot that was closed stays so. */
static void go_on(struct thread *thread)
{
	struct trace_chunk *chunk = thread->chunk;

	thread->cursor = (uint8_t *)(chunk + 1) + committed(chunk);
	thread->limit = is_full() ? thread->cursor : end_of_room(thread);
}

bool slot_open(struct thread *thread)
{
	if (thread->chunk) {
		go_on(thread);
		return true;
	}
	if (!map_new(thread, slots_private() ? SLOT_FULL_SIZE : SLOT_FIRST_SIZE))
		return false;
	open_chunk(thread);
	log_slot(thread, SETTING_LOG_DEBUG, "opens a slot");
	return true;
}

/* Appends a sealed copy of the chunk's first size bytes to the file. */
static enum file_result append_copy(struct trace_chunk *chunk, uint32_t size)
{
	struct trace_chunk head = *chunk;
	uint8_t *rest = (uint8_t *)(chunk + 1);
	size_t rest_size = size - sizeof(head) - TRACE_TRAILER_SIZE;

	head.flags = TRACE_CHUNK_SEALED;
	head.size = size;
	bytes_put_u64(rest + rest_size, trace_checksum(&head, sizeof(head), rest, rest_size));
	return file_append(&recording->file, &head, rest, size);
}

/* Seals the slot, which becomes a chunk of the file. The thread has no slot afterwards. */
static void seal_in_place(struct thread *thread)
{
	struct trace_chunk *chunk = thread->chunk;
	struct trace_chunk head = *chunk;
	uint8_t *rest = (uint8_t *)(chunk + 1);
	size_t rest_size = thread->slot_size - sizeof(head) - TRACE_TRAILER_SIZE;

	head.flags = TRACE_CHUNK_SEALED;
	bytes_put_u64(rest + rest_size, trace_checksum(&head, sizeof(head), rest, rest_size));
	__atomic_store_n(&chunk->flags, TRACE_CHUNK_SEALED, __ATOMIC_RELEASE);
	file_slot_sealed(&recording->file, thread->slot_size);
	// In a seccomp window the slot is part of a larger mapping, and stays mapped.
	if (!process_system_calls_forbidden() && !stays_mapped())
		own_place_unmap(chunk, thread->slot_size);
	thread->chunk = NULL;
}

static uint32_t grown_size(const struct thread *thread, size_t need)
{
	uint32_t size = thread->slot_size * 4;

	if (size > SLOT_FULL_SIZE)
		size = SLOT_FULL_SIZE;
	while (size - CHUNK_OVERHEAD < need && size < TRACE_CHUNK_SIZE_MAX / 2)
		size *= 2;
	return size;
}

static bool is_closed(const struct thread *thread)
{
	return thread->cursor && thread->limit != end_of_room(thread);
}

struct slot_admission slot_admit(struct thread *thread)
{
	struct slot_admission before = {thread->sequence, is_closed(thread)};

	if (unlikely(before.closed))
		thread->limit = end_of_room(thread);
	return before;
}

void slot_close_again(struct thread *thread, struct slot_admission before)
{
	bool rolled = thread->sequence != before.sequence;

	if (thread->cursor && (before.closed || rolled) && is_full())
		thread->limit = thread->cursor;
}

/* Said once by a program and its children. */
static void say_full(void)
{
	static uint32_t said;

	if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		return;
	log_line(SETTING_LOG_ERROR,
		 "the receiver is slower than the program, or not there: events are lost, counted "
		 "as stream_buffer; MALLOW_STREAM_BUFFER says how much may wait");
}

/* Asks for room to seal the slot. */
static enum file_result ask_room(struct thread *thread, enum file_use use)
{
	enum file_result result = file_ask_room(&recording->file, thread->slot_size, use);

	if (result == FILE_FULL)
		say_full();
	return result;
}

bool slot_roll(struct thread *thread, size_t need, enum file_use use)
{
	enum file_result result;

	if (process_state() != PROCESS_RECORDING || thread->forked)
		return stop(thread, FILE_OK);
	result = ask_room(thread, use);
	if (result == FILE_FULL)
		return false;
	if (result != FILE_OK)
		return stop(thread, result);
	if (is_closed(thread)) {
		thread->limit = end_of_room(thread);
		return true; // perhaps that is enough; else it comes again
	}
	log_slot(thread, SETTING_LOG_TRACE, "has filled a slot");
	if (thread->slot_size >= SLOT_FULL_SIZE && thread->slot_size - CHUNK_OVERHEAD >= need &&
	    !stays_mapped()) {
		result = append_copy(thread->chunk, thread->slot_size);
		if (result != FILE_OK)
			return stop(thread, result);
		thread->sequence++;
	} else {
		uint32_t size = grown_size(thread, need + PLACE_MAX);

		if (slots_private()) {
			result = append_copy(thread->chunk, thread->slot_size);
			if (result != FILE_OK)
				return stop(thread, result);
			thread->chunk = NULL;
		} else {
			seal_in_place(thread);
		}
		// The number is used up, even if there is no memory now and a later event tries
		// again.
		thread->sequence++;
		if (!map_new(thread, size)) {
			thread->cursor = NULL;
			thread->limit = NULL;
			return false;
		}
	}
	open_chunk(thread);
	event_clock_expire(&thread->clock);
	return true;
}

static uint32_t used_size(uint32_t size)
{
	return (uint32_t)bytes_round_up(CHUNK_OVERHEAD + size, TRACE_PAGE);
}

/* A private slot that could not be appended is one loss: nobody counted its events. */
static void lose_private(enum file_result result)
{
	if (!slots_private() || result == FILE_OK)
		return;
	process_stop_for_file(result);
	process_count_loss(process->loss_if_stopped);
}

static void give_back_mapping(struct trace_chunk *chunk, uint32_t size)
{
	// A private slot stays: its memory is not given back.
	if (!slots_private() && !process_system_calls_forbidden() && !stays_mapped())
		own_place_unmap(chunk, size);
}

void slot_forget(struct thread *thread)
{
	if (thread->chunk)
		give_back_mapping(thread->chunk, thread->slot_size);
	thread->cursor = NULL;
	thread->limit = NULL;
	thread->chunk = NULL;
}

void slot_rest(struct thread *thread)
{
	thread->cursor = NULL;
	thread->limit = NULL;
}

bool slot_flush_private(struct thread *thread, void *scratch, size_t room)
{
	const struct trace_chunk *chunk = __atomic_load_n(&thread->chunk, __ATOMIC_ACQUIRE);
	struct trace_chunk *copy = scratch;
	uint64_t commit;
	uint32_t size;

	if (!chunk)
		return true;
	commit = __atomic_load_n(&chunk->commit, __ATOMIC_ACQUIRE);
	size = used_size((uint32_t)commit);
	if (!(uint32_t)commit)
		return true;
	if (size > room)
		return false;
	// The thread may be writing on, or rolling. If the sequence has not changed, the bytes up
	// to `commit` are whole; if it has, the thread has appended this chunk by itself.
	memcpy(copy, chunk, sizeof(*copy) + (uint32_t)commit);
	memset((char *)(copy + 1) + (uint32_t)commit, 0, size - sizeof(*copy) - (uint32_t)commit);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (sequence_of(__atomic_load_n(&chunk->commit, __ATOMIC_RELAXED)) != sequence_of(commit))
		return true;
	copy->commit = commit;
	if (file_ask_room(&recording->file, size, FILE_NEEDED) == FILE_OVERFULL)
		return false;
	lose_private(append_copy(copy, size));
	return true;
}
