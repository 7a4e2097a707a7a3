#include "ebpf/record/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cfi/abi.h"
#include "ebpf/record/record_code.h"
#include "ebpf/record/record_facts.h"
#include "hosted/cleanup.h"
#include "hosted/now.h"
#include "hosted/proc.h"

/* How often the file is flushed, and how often /proc is looked at. */
#define FLUSH_NS 100000000ull
#define LOOK_NS  1000000000ull

/* What the usable size of glibc's blocks is above the size asked for, at most. */
#define SLACK_MAX       64
#define SLACK_MAX_PAGES 8192 /* of whole pages */

/* glibc: the low bits of the word before a block. */
#define CHUNK_MAPPED   2u
#define CHUNK_NOT_MAIN 4u
#define CHUNK_FLAGS    7u

/* A thread, and the stream that it writes. */
struct thread_stream {
	uint32_t tid; /* 0: it has ended, and the next thread takes the stream */
	char name[RECORD_NAME_SIZE];
};

struct recorder {
	struct tracer *tracer;
	struct recording_file *file;
	struct record_code code;
	VEC(struct thread_stream) streams; /* by number; the first is the main thread's */
	struct map by_tid;                 /* numbers of streams */
	uint64_t losses[TRACE_LOSS_COUNTERS];
	uint64_t flush_at, look_at;
	struct err *failure; /* of a handler, until recorder_step() returns it */
};

static void keep_failure(struct recorder *recorder, struct err *err)
{
	if (recorder->failure)
		err_destroy(err);
	else
		recorder->failure = err;
}

static void put_thread(struct recorder *recorder, uint32_t stream, uint64_t ticks)
{
	const struct thread_stream *thread = &recorder->streams.items[stream];
	const uint64_t tid = thread->tid;

	recording_file_fact(recorder->file, stream,
			    &(struct recording_fact){.kind = TRACE_RECORD_THREAD,
						     .has_time = true,
						     .ticks = ticks,
						     .fields = &tid,
						     .count = 1,
						     .text = thread->name,
						     .size = strlen(thread->name)});
}

/* Writes the thread's name if it is a new one. */
static void rename_thread(struct recorder *recorder, uint32_t stream, const char *name,
			  uint64_t ticks)
{
	struct thread_stream *thread = &recorder->streams.items[stream];

	if (strncmp(thread->name, name, RECORD_NAME_SIZE - 1) == 0)
		return;
	snprintf(thread->name, sizeof(thread->name), "%s", name);
	recording_file_fact(recorder->file, stream,
			    &(struct recording_fact){.kind = TRACE_RECORD_THREAD_NAME,
						     .has_time = true,
						     .ticks = ticks,
						     .text = thread->name,
						     .size = strlen(thread->name)});
}

/* A stream for a thread: that of one that has ended, or a new one. */
static uint32_t take_stream(struct recorder *recorder, uint64_t ticks)
{
	uint32_t number = 0;

	// Stream 0 is the main thread's, which has its place in it even when it has ended.
	for (number = 1; number < recorder->streams.count; number++)
		if (!recorder->streams.items[number].tid)
			return number;
	if (!vec_push(&recorder->streams, (struct thread_stream){0})) {
		keep_failure(recorder, err_no_memory());
		return 0;
	}
	return recording_file_add_stream(recorder->file, ticks);
}

/* The stream of a thread, whose record is written if it is new. */
static uint32_t stream_of(struct recorder *recorder, uint32_t tid, uint64_t ticks)
{
	uint64_t *number = map_put(&recorder->by_tid, tid);

	if (!number) {
		keep_failure(recorder, err_no_memory());
		return 0;
	}
	if (*number == MAP_NONE) {
		struct thread_stream *thread;

		*number = take_stream(recorder, ticks);
		thread = &recorder->streams.items[*number];
		*thread = (struct thread_stream){.tid = tid};
		record_facts_thread_name(tracer_target(recorder->tracer), tid, thread->name);
		put_thread(recorder, (uint32_t)*number, ticks);
	}
	return (uint32_t)*number;
}

/* The frames of a stack; counts those that are not whole. */
static bool find_stack(struct recorder *recorder, uint32_t number, uint32_t generation,
		       struct recorded_stack *ret)
{
	struct err *err = record_code_stack(&recorder->code, recorder->tracer, number, generation,
					    recorder->file, ret);

	if (err) {
		keep_failure(recorder, err);
		return false;
	}
	if (ret->lost)
		recorder->losses[TRACE_LOSS_LOST_STACKS]++;
	else if (ret->end == STACK_TOO_DEEP)
		recorder->losses[TRACE_LOSS_TRUNCATED_STACKS]++;
	else if (ret->end != STACK_WHOLE)
		recorder->losses[TRACE_LOSS_BROKEN_STACKS]++;
	return true;
}

/*
 * How much more than was asked for is usable, by the word before the block. Other allocators'
 * blocks, of a library that was opened later, have none that makes sense.
 */
static void read_chunk(const struct recorded_call *call, struct trace_event *event)
{
	bool mapped = call->chunk & CHUNK_MAPPED;
	uint64_t usable = (call->chunk & ~(uint64_t)CHUNK_FLAGS) - (mapped ? 16 : 8);
	bool pages = mapped || event->operation == TRACE_OP_PVALLOC;
	uint64_t most = (pages ? SLACK_MAX_PAGES : SLACK_MAX) + call->alignment;

	event->slack = trace_glibc_usable(call->size) - call->size;
	if (!call->chunk || usable < call->size || usable - call->size > most)
		return;
	event->slack = usable - call->size;
	event->heap_flags =
		(uint8_t)((mapped ? TRACE_HEAP_MMAPPED : 0) |
			  (call->chunk & CHUNK_NOT_MAIN ? TRACE_HEAP_NON_MAIN_ARENA : 0));
}

/* realloc and reallocarray of a block that is there have operations of their own. */
static uint8_t operation_of(const struct recorded_call *call)
{
	uint8_t operation = HOOK_OPERATION_OF(call->cookie);

	if (!call->old)
		return operation;
	return operation == TRACE_OP_REALLOCARRAY_NULL ? TRACE_OP_REALLOCARRAY : TRACE_OP_REALLOC;
}

static void put_alloc(struct recorder *recorder, const struct recorded_call *call)
{
	struct trace_event event = {
		.operation = operation_of(call),
		.ticks = call->old ? call->began_ns : call->head.time_ns,
		.duration = call->old ? call->head.time_ns - call->began_ns : 0,
		.old_address = call->old,
		.address = call->address,
		.size = call->size,
		.alignment = call->alignment,
	};
	uint32_t stream = stream_of(recorder, call->head.tid, event.ticks);
	struct recorded_stack stack;

	if (tracer_is_glibc(recorder->tracer))
		read_chunk(call, &event);
	if (find_stack(recorder, call->stack, call->generation, &stack))
		recording_file_event(recorder->file, stream, &event,
				     recorder->code.frames.items + stack.first, stack.count);
}

/* A record of section 4.2 that belongs to a stack. */
static void put_with_stack(struct recorder *recorder, const struct recorded *head, uint32_t stack,
			   uint32_t generation, enum trace_record kind, const uint64_t *fields,
			   size_t count)
{
	uint32_t stream = stream_of(recorder, head->tid, head->time_ns);
	struct recorded_stack found;

	if (find_stack(recorder, stack, generation, &found))
		recording_file_fact(
			recorder->file, stream,
			&(struct recording_fact){.kind = kind,
						 .has_time = true,
						 .ticks = head->time_ns,
						 .fields = fields,
						 .count = count,
						 .stack = recorder->code.frames.items + found.first,
						 .frames = found.count});
}

static void put_free(struct recorder *recorder, const struct recorded_call *call)
{
	uint8_t operation = HOOK_OPERATION_OF(call->cookie);
	struct trace_event event = {
		.operation = operation < TRACE_OP_FREE ? TRACE_OP_FREE : operation,
		.ticks = call->head.time_ns,
		.address = call->address,
	};

	recording_file_event(recorder->file, stream_of(recorder, call->head.tid, event.ticks),
			     &event, NULL, 0);
}

static void put_map(struct recorder *recorder, const struct recorded_map *map)
{
	const uint64_t *in = map->arguments, *fields = in;
	// The protection, the flags and the descriptor are ints.
	const uint64_t mapped[] = {in[0],           map->address,           in[1], (uint32_t)in[2],
				   (uint32_t)in[3], zigzag((int32_t)in[4]), in[5]};
	const uint64_t moved[] = {in[0], in[1], map->address, in[2], (uint32_t)in[3]};
	enum trace_record kind = TRACE_RECORD_MUNMAP;
	size_t count = 2;

	if (map->head.kind == EVENT_RECORD_MMAP) {
		kind = TRACE_RECORD_MMAP;
		fields = mapped;
		count = ARRAY_COUNT(mapped);
	} else if (map->head.kind == EVENT_RECORD_MREMAP) {
		kind = TRACE_RECORD_MREMAP;
		fields = moved;
		count = ARRAY_COUNT(moved);
	}
	put_with_stack(recorder, &map->head, map->stack, map->generation, kind, fields, count);
}

static void on_recorded(void *argument, const struct recorded *head)
{
	struct recorder *recorder = argument;
	const struct recorded_call *call = (const void *)head;

	if (head->kind == EVENT_RECORD_FREE) {
		put_free(recorder, call);
	} else if (head->kind != EVENT_RECORD_ALLOC) {
		put_map(recorder, (const void *)head);
	} else if (call->address) {
		put_alloc(recorder, call);
	} else {
		const uint64_t fields[] = {operation_of(call), call->size};

		put_with_stack(recorder, head, call->stack, call->generation, TRACE_RECORD_FAILED,
			       fields, 2);
	}
}

static void on_thread_end(void *argument, const struct event *event)
{
	struct recorder *recorder = argument;
	uint64_t number = map_get(&recorder->by_tid, event->tid);
	char name[RECORD_NAME_SIZE] = "";

	// One that has not allocated is not in the recording.
	if (number == MAP_NONE)
		return;
	memcpy(name, event->name, sizeof(name) - 1);
	rename_thread(recorder, (uint32_t)number, name, event->time_ns);
	recording_file_fact(recorder->file, (uint32_t)number,
			    &(struct recording_fact){.kind = TRACE_RECORD_THREAD_END,
						     .has_time = true,
						     .ticks = event->time_ns});
	recorder->streams.items[number].tid = 0;
	map_remove(&recorder->by_tid, event->tid);
}

static void on_code(void *argument)
{
	struct recorder *recorder = argument;
	struct err *err;

	if (!recorder->file)
		return; // recorder_create() will look
	err = record_code_look(&recorder->code, tracer_target(recorder->tracer), now_ns(),
			       recorder->file);
	if (err)
		keep_failure(recorder, err);
}

static void on_fork(void *argument, pid_t child)
{
	struct recorder *recorder = argument;
	const uint64_t pid = (uint64_t)child;

	recording_file_fact(recorder->file, 0,
			    &(struct recording_fact){.kind = TRACE_RECORD_FORK,
						     .has_time = true,
						     .ticks = now_ns(),
						     .fields = &pid,
						     .count = 1});
}

static uint64_t realtime_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Whether its files are those that we see under their names, and its user ours. */
static bool is_ours(const struct target *target)
{
	struct stat own, other;

	return target->facts.user == geteuid() && stat("/proc/self/ns/mnt", &own) == 0 &&
	       fstatat(target->proc, "ns/mnt", &other, 0) == 0 && own.st_ino == other.st_ino &&
	       own.st_dev == other.st_dev;
}

static struct err *create_file(struct recorder *recorder, const struct recorder_output *output)
{
	const struct target *target = tracer_target(recorder->tracer);
	const struct trace_attacher attacher = {
		.start_time = process_start_time((uint32_t)getpid()), .pid = (uint32_t)getpid()};
	uint64_t now = now_ns();
	const struct trace_header header = {
		.pid = (uint32_t)target->pid,
		.parent_pid = (uint32_t)target->facts.parent,
		.start_time = target->facts.start_time,
		.machine = ARCH_ELF_MACHINE,
		.pointer_size = 8,
		.allocator = tracer_is_glibc(recorder->tracer) ? TRACE_ALLOCATOR_GLIBC
							       : TRACE_ALLOCATOR_UNKNOWN,
		// Another user's program, or one in a container, may name any file as a source.
		.flags = TRACE_BEGUN_BY_START | TRACE_ATTACHED |
			 (is_ours(target) ? 0 : TRACE_FOREIGN),
		.start_ticks = now,
		.start_monotonic_ns = now,
		.start_realtime_ns = realtime_ns(),
	};
	struct err *err =
		output->path
			? recording_file_create(output->path, &header, &attacher, &recorder->file)
			: recording_file_adopt(output->fd, &header, &attacher, &recorder->file);

	if (err)
		return err;
	// The main thread has stream 0, which has all records that are not one thread's.
	stream_of(recorder, (uint32_t)target->pid, now);
	return NULL;
}

struct err *recorder_create(struct target *target, const struct tracer_options *options,
			    const struct recorder_output *output, struct recorder **ret)
{
	cleanup(recorder_destroy_at) struct recorder *recorder = calloc(1, sizeof(*recorder));
	const struct tracer_events events = {.argument = recorder,
					     .on_recorded = on_recorded,
					     .on_thread_end = on_thread_end,
					     .on_code = on_code,
					     .on_fork = on_fork};
	struct tracer_options recording = *options;
	struct err *err;

	if (!recorder) {
		target_close(target);
		return err_no_memory();
	}
	recording.record = true;
	recording.min_size = 0;
	recording.max_size = UINT64_MAX;
	recording.sample_rate = 1;
	err = tracer_create(target, &recording, &events, &recorder->tracer);
	if (!err)
		err = create_file(recorder, output);
	if (!err)
		err = record_code_look(&recorder->code, target, now_ns(), recorder->file);
	if (err)
		return err;
	record_facts_process(target, recorder->file);
	tracer_start(recorder->tracer);
	err = recorder_step(recorder);
	if (err)
		return err;
	*ret = steal(&recorder);
	return NULL;
}

void recorder_destroy(struct recorder *recorder)
{
	if (!recorder)
		return;
	tracer_destroy(recorder->tracer);
	recording_file_close(recorder->file);
	record_code_deinit(&recorder->code);
	vec_deinit(&recorder->streams);
	map_deinit(&recorder->by_tid);
	err_destroy(recorder->failure);
	free(recorder);
}

/* Looks at what no event tells: memory, and new names of threads. */
static void look_around(struct recorder *recorder, uint64_t now)
{
	const struct target *target = tracer_target(recorder->tracer);
	char name[RECORD_NAME_SIZE];

	record_facts_memory(target, now, recorder->file);
	for (uint32_t i = 0; i < recorder->streams.count; i++)
		if (recorder->streams.items[i].tid &&
		    record_facts_thread_name(target, recorder->streams.items[i].tid, name))
			rename_thread(recorder, i, name, now);
}

static struct err *flush_recording(struct recorder *recorder)
{
	const struct bpf_losses lost = tracer_losses(recorder->tracer);

	recorder->losses[TRACE_LOSS_RING_FULL] = lost.events;
	recorder->losses[TRACE_LOSS_NO_MEMORY] = lost.calls;
	return recording_file_flush(recorder->file, recorder->losses);
}

/* What has come up to now, or in a while of always more: the file is to be flushed, too. */
static struct err *poll_calls(struct recorder *recorder)
{
	uint64_t until = now_ns() + FLUSH_NS;
	struct err *err;

	do {
		err = tracer_poll(recorder->tracer);
		if (!err)
			err = steal(&recorder->failure);
	} while (!err && tracer_is_behind(recorder->tracer) && now_ns() < until);
	return err;
}

struct err *recorder_step(struct recorder *recorder)
{
	struct err *err = poll_calls(recorder);
	uint64_t now = now_ns();

	if (!err && now >= recorder->look_at) {
		look_around(recorder, now);
		recorder->look_at = now + LOOK_NS;
	}
	if (!err && now >= recorder->flush_at) {
		err = flush_recording(recorder);
		recorder->flush_at = now + FLUSH_NS;
	}
	return err;
}

bool recorder_has_executed(const struct recorder *recorder)
{
	return tracer_has_executed(recorder->tracer);
}

static enum trace_end how_it_ended(const struct recorder *recorder, bool ended,
				   uint32_t *ret_status)
{
	uint32_t code;

	*ret_status = 0;
	if (recorder_has_executed(recorder))
		return TRACE_END_EXEC;
	if (!ended)
		return TRACE_END_DETACHED;
	// It may have ended before its end could be seen.
	if (!tracer_exit_code(recorder->tracer, &code))
		return TRACE_END_UNKNOWN;
	*ret_status = code & 0x7f ? code & 0x7f : code >> 8 & 0xff;
	return code & 0x7f ? TRACE_END_SIGNAL : TRACE_END_EXIT;
}

struct err *recorder_end(struct recorder *recorder, bool ended)
{
	// Probes go one after the other, which takes a while: the recording ends before.
	uint64_t now = now_ns();
	struct err *err;

	look_around(recorder, now);
	err = tracer_stop(recorder->tracer);
	if (!err)
		err = steal(&recorder->failure);
	if (!err)
		err = flush_recording(recorder);
	if (err)
		return err;

	uint32_t status;
	enum trace_end reason = how_it_ended(recorder, ended, &status);

	return recording_file_end(recorder->file, now, reason, status);
}

void recorder_stop(struct recorder *recorder)
{
	err_destroy(tracer_stop(recorder->tracer));
	recording_file_stop(recorder->file);
}

const struct tracer *recorder_tracer(const struct recorder *recorder)
{
	return recorder->tracer;
}

const struct recording_file *recorder_file(const struct recorder *recorder)
{
	return recorder->file;
}
