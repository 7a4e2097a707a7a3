#include "agent/record/slot.h"

#include "agent/arch/machine.h"
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
#include "trace/decode.h"
#include "trace/format.h"

#define CHUNK_OVERHEAD (sizeof(struct trace_chunk) + TRACE_TRAILER_SIZE)
#define PLACE_MAX      (2 + 2 * VARINT_MAX + TRACE_PLACE_ID) /* put_place() */
#define FLUSH_SIZE     (1u << 20) /* room to copy one slot: deep stacks make some large */

/* Whether slots are no mappings of the file, or no longer (file_cut.h). */
static bool slots_private(void)
{
	return process->header->flags & TRACE_PRIVATE_SLOTS ||
	       __atomic_load_n(&recording->file.cut, __ATOMIC_ACQUIRE);
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
	if (!thread->sequence) {
		__atomic_add_fetch(&process->streams_begun, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&thread->settled, 0, __ATOMIC_RELAXED);
	}
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

/* Appends a sealed copy of the chunk's first size bytes to the file. write: file_append()'s. */
static enum file_result append_copy(struct trace_chunk *chunk, uint32_t size,
				    struct timed_write *write)
{
	struct trace_chunk head = *chunk;
	uint8_t *rest = (uint8_t *)(chunk + 1);
	size_t rest_size = size - sizeof(head) - TRACE_TRAILER_SIZE;

	head.flags = TRACE_CHUNK_SEALED;
	head.size = size;
	bytes_put_u64(rest + rest_size, trace_checksum(&head, sizeof(head), rest, rest_size));
	return file_append(&recording->file, &head, rest, size, write);
}

/* Counts the events that begin at `from` or later in a chunk. 1 if there is no memory for that. */
static uint64_t count_events(const struct trace_chunk *chunk, uint32_t from)
{
	struct decode_stream stream = {.capacity = (uint32_t)config.value[SETTING_DEPTH] + 16};
	size_t size = stream.capacity * sizeof(*stream.stack);
	struct decode_event event;
	uint64_t count = 0;

	stream.stack = process_system_calls_forbidden() ? NULL : own_pages_allocate(size);
	if (!stream.stack)
		return 1;
	if (decode_chunk(&stream, chunk + 1, committed(chunk), chunk->base_ticks, chunk->carried,
			 false) == DECODE_RECORD)
		while (decode_next(&stream, &event) == DECODE_RECORD)
			count += event.offset >= from && fact_record_is_event(event.kind);
	own_pages_release(stream.stack, size);
	return count;
}

/*
 * Makes the caller responsible for what the slot holds up to `commit`. Returns from where on: what
 * stands before that somebody else has appended, or counted as lost.
 */
static uint32_t settle_content(struct thread *thread, uint64_t commit)
{
	uint64_t before = __atomic_load_n(&thread->settled, __ATOMIC_RELAXED);

	do
		if (before >= commit)
			return (uint32_t)commit;
	while (!__atomic_compare_exchange_n(&thread->settled, &before, commit, true,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	return sequence_of(before) == sequence_of(commit) ? (uint32_t)before : 0;
}

void slot_settle(struct thread *thread)
{
	const struct trace_chunk *chunk = __atomic_load_n(&thread->chunk, __ATOMIC_ACQUIRE);

	if (chunk)
		settle_content(thread, __atomic_load_n(&chunk->commit, __ATOMIC_ACQUIRE));
}

/*
 * Appends the first size bytes of a private slot, unless that has been done. If the recording has
 * stopped, or stops by that, counts the events as lost instead. chunk: the slot, or a copy of it.
 *
 * The thread that stops a recording sets its state, and then settles the slots of all threads. Here
 * the slot is settled before the state is read. So exactly one of the two takes care of the events.
 */
static enum file_result append_private(struct thread *thread, struct trace_chunk *chunk,
				       uint32_t size, struct timed_write *write)
{
	enum file_result result = FILE_OK;
	uint32_t from = settle_content(thread, chunk->commit);

	if (from == committed(chunk))
		return FILE_OK;
	if (__atomic_load_n(&process->state, __ATOMIC_SEQ_CST) == PROCESS_RECORDING) {
		write->chunk = chunk;
		write->from = from;
		result = append_copy(chunk, size, write);
		if (result == FILE_OK || result == FILE_LATE)
			return result;
		process_stop_for_file(result);
	}
	process_count_losses(process->loss_if_stopped, count_events(chunk, from));
	return result;
}

static enum file_result append_slot(struct thread *thread)
{
	struct trace_chunk *chunk = thread->chunk;
	uint32_t size = thread->slot_size;

	return slots_private() ? append_private(thread, chunk, size,
						(struct timed_write *)((char *)chunk + size))
			       : append_copy(chunk, size, NULL);
}

static bool stop_for(struct thread *thread, enum file_result result)
{
	process_stop_for_file(result);
	if (process_state() == PROCESS_STOPPED && !thread->forked && thread->chunk &&
	    slots_private()) {
		append_slot(thread); // only counts now
		if (!process_system_calls_forbidden())
			file_write_header(&recording->file);
	}
	thread->cursor = NULL;
	thread->limit = NULL;
	return false;
}

static void end_change(void)
{
	__atomic_sub_fetch(&recording->file.changing, 1, __ATOMIC_SEQ_CST);
}

/*
 * Before the file grows, and slots are mapped or unmapped; may be nested. file_cut.c stops the
 * recording, and then waits for those that have begun. false: the recording has stopped.
 */
static bool begin_change(void)
{
	__atomic_add_fetch(&recording->file.changing, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&process->state, __ATOMIC_SEQ_CST) != PROCESS_STOPPED)
		return true;
	end_change();
	return false;
}

static void *private_memory(size_t size)
{
	void *memory = own_pages_allocate(size + TIMED_WRITE_SIZE); // behind the slot

	if (memory && !process_system_calls_forbidden())
		sys_madvise(memory, size, MADV_DONTFORK);
	return memory;
}

static bool map_new(struct thread *thread, uint32_t size)
{
	enum file_result result = FILE_WRITE_FAILED;
	void *memory;

	if (!begin_change())
		return stop_for(thread, FILE_OK);
	if (slots_private())
		memory = private_memory(size);
	else
		memory = file_map_slot(&recording->file, size, &thread->slot_offset, &result);
	if (memory)
		thread->slot_size = size;
	thread->chunk = memory;
	end_change();
	return memory || (!slots_private() && stop_for(thread, result));
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

/* The file is mapped in pages of the kernel's, so every chunk is a multiple of these. */
static uint32_t first_size(void)
{
	return (uint32_t)bytes_round_up(SLOT_FIRST_SIZE, arch_page());
}

bool slot_open(struct thread *thread)
{
	if (thread->chunk) {
		go_on(thread);
		return true;
	}
	if (!map_new(thread, slots_private() ? SLOT_FULL_SIZE : first_size()))
		return false;
	open_chunk(thread);
	log_slot(thread, SETTING_LOG_DEBUG, "opens a slot");
	return true;
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

/*
 * Whether a write is late, and not done yet. Those that are done are taken care of: if one has
 * failed, that stops the recording, and its events are lost.
 */
static bool is_late(void)
{
	struct timed_write *write;

	if (!file_take_late(&recording->file, &write))
		return true;
	for (; write; write = write->next) {
		timed_write_wait(write);
		__atomic_store_n(&write->used, 0, __ATOMIC_RELEASE);
		if (write->result == (long)write->size || !write->chunk)
			continue;
		process_stop_for_file(FILE_WRITE_FAILED);
		process_count_losses(process->loss_if_stopped,
				     count_events(write->chunk, write->from));
	}
	return false;
}

/* Makes a private slot larger, with what it holds, for records that later events need. */
static bool grow_slot(struct thread *thread, size_t need)
{
	uint32_t used = committed(thread->chunk), size = thread->slot_size;
	struct trace_chunk *chunk;

	while (size - CHUNK_OVERHEAD < used + need)
		size *= 2;
	chunk = size <= FLUSH_SIZE ? private_memory(size) : NULL;
	if (!chunk)
		return false;
	memcpy(chunk, thread->chunk, sizeof(*chunk) + used);
	chunk->size = size;
	thread->slot_size = size;
	__atomic_store_n(&thread->chunk, chunk, __ATOMIC_RELEASE);
	thread->cursor = (uint8_t *)(chunk + 1) + used;
	thread->limit = end_of_room(thread);
	return true;
}

static bool roll_slot(struct thread *thread, size_t need, enum file_use use)
{
	enum file_result result;
	bool again;

	if (is_late())
		return use == FILE_NEEDED && grow_slot(thread, need);
	result = ask_room(thread, use);
	if (result == FILE_FULL)
		return false;
	if (result != FILE_OK)
		return stop_for(thread, result);
	if (is_closed(thread)) {
		thread->limit = end_of_room(thread);
		return true; // perhaps that is enough; else it comes again
	}
	log_slot(thread, SETTING_LOG_TRACE, "has filled a slot");
	again = thread->slot_size >= SLOT_FULL_SIZE && thread->slot_size - CHUNK_OVERHEAD >= need &&
		!stays_mapped();
	if (again || slots_private()) {
		result = append_slot(thread);
		if (result != FILE_OK && result != FILE_LATE)
			return stop_for(thread, result);
	} else {
		seal_in_place(thread);
	}
	// The number is used up, even if there is no memory now and a later event tries again.
	thread->sequence++;
	if (!again || result == FILE_LATE) {
		uint32_t size = again ? thread->slot_size : grown_size(thread, need + PLACE_MAX);

		thread->chunk = NULL; // of a private slot: its memory is not given back
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

bool slot_roll(struct thread *thread, size_t need, enum file_use use)
{
	bool done;

	if (process_state() != PROCESS_RECORDING || thread->forked || !begin_change())
		return stop_for(thread, FILE_OK);
	done = roll_slot(thread, need, use);
	end_change();
	return done;
}

static uint32_t used_size(uint32_t size)
{
	return (uint32_t)bytes_round_up(CHUNK_OVERHEAD + size, arch_page());
}

void slot_forget(struct thread *thread)
{
	bool changes = begin_change();

	// A private slot stays: its memory is not given back.
	if (thread->chunk && slots_private())
		append_slot(thread);
	else if (thread->chunk && changes && !process_system_calls_forbidden() && !stays_mapped())
		own_place_unmap(thread->chunk, thread->slot_size);
	thread->cursor = NULL;
	thread->limit = NULL;
	thread->chunk = NULL;
	if (changes)
		end_change();
}

void slot_rest(struct thread *thread)
{
	thread->cursor = NULL;
	thread->limit = NULL;
}

/*
 * scratch: a buffer of FLUSH_SIZE bytes, and of a struct timed_write. FILE_FULL: the slot holds
 * more.
 */
static enum file_result flush_private(struct thread *thread, void *scratch)
{
	const struct trace_chunk *chunk = __atomic_load_n(&thread->chunk, __ATOMIC_ACQUIRE);
	struct trace_chunk *copy = scratch;
	uint64_t commit;
	uint32_t size;

	if (!chunk)
		return FILE_OK;
	commit = __atomic_load_n(&chunk->commit, __ATOMIC_ACQUIRE);
	size = used_size((uint32_t)commit);
	if (!(uint32_t)commit)
		return FILE_OK;
	if (size > FLUSH_SIZE)
		return FILE_FULL;
	// The thread may be writing on, or rolling. If the sequence has not changed, the bytes up
	// to `commit` are whole; if it has, the thread has appended this chunk by itself.
	memcpy(copy, chunk, sizeof(*copy) + (uint32_t)commit);
	memset((char *)(copy + 1) + (uint32_t)commit, 0, size - sizeof(*copy) - (uint32_t)commit);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (sequence_of(__atomic_load_n(&chunk->commit, __ATOMIC_RELAXED)) != sequence_of(commit))
		return FILE_OK;
	copy->commit = commit;
	if (file_ask_room(&recording->file, size, FILE_NEEDED) == FILE_OVERFULL)
		return FILE_FULL;
	return append_private(thread, copy, size,
			      (struct timed_write *)((char *)scratch + FLUSH_SIZE));
}

bool slot_flush_all(void)
{
	const size_t size = FLUSH_SIZE + TIMED_WRITE_SIZE;
	struct thread *thread = __atomic_load_n(&process->threads, __ATOMIC_ACQUIRE);
	struct timed_write *late = __atomic_load_n(&recording->file.late, __ATOMIC_ACQUIRE);
	enum file_result result = FILE_OK;
	bool whole = true, changes = begin_change();
	void *scratch = own_place_map_memory(size);

	if (late && changes)
		timed_write_wait(late);
	if (!scratch || (changes && is_late()))
		thread = NULL, whole = false;
	for (; thread && result != FILE_LATE; thread = thread->all_next) {
		result = flush_private(thread, scratch);
		whole &= result == FILE_OK;
	}
	if (scratch && result != FILE_LATE)
		own_place_unmap(scratch, size);
	if (changes)
		end_change();
	return whole;
}
