/*
 * A thread as the agent knows it: its slot, its guard against nested calls, its last stack. The
 * memory is the agent's own. The kernel wipes it at fork, and the next thread gets it when this one
 * is gone. life/thread.h begins and ends a thread.
 *
 *   outer   busy
 *     0       0     open: in no hook
 *    set      0     in a hook: `outer` is the stack pointer of the hook's caller. A hook that finds
 *                   it set was called by that one (operator new calls malloc) and records nothing,
 *                   unless the frame is gone (longjmp, exception, fiber): unwind_find_frame() looks
 *    set      1     the agent works for that hook. What a signal handler allocates now waits in
 *                   `pending`
 *
 * Only the thread itself touches its struct, but for all_next, tid and the slot at process end.
 */
#ifndef MALLOW_AGENT_EVENT_THREAD_H
#define MALLOW_AGENT_EVENT_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/event/admission.h"
#include "agent/event/event_clock.h"
#include "agent/event/handler_queue.h"
#include "agent/ground/config.h"
#include "agent/ground/state.h"
#include "agent/unwind/arch.h"
#include "agent/unwind/nesting.h"
#include "agent/unwind/stack_cache.h"
#include "agent/unwind/unwind.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "trace/encode.h"

struct cull_holder;

struct thread {
	/* The writer; cursor and limit are 0 while there is no slot: fork, start, end. */
	uint8_t *cursor;
	uint8_t *limit;
	uint64_t outer; /* the guard: caller's stack pointer of the outermost hook, 0: none */
	struct trace_chunk *chunk;
	struct trace_encoder encoder;
	struct event_clock clock;
	uint32_t depth; /* of the stream's current stack; stack.shared of it are in `stack`, too */
	uint32_t epoch; /* of the process, when `stack` and `bounds` were known to be true */
	uint8_t busy;
	uint8_t announced; /* the thread record is written */
	uint8_t ended;     /* its key destructor ran */
	uint8_t forked;    /* kept over a fork that interrupted a write: fork.h */
	union {
		struct {
			uint8_t resync;  /* the encoder's state may be half changed */
			uint8_t passing; /* in a hook that only passes on: our frame is in every
					    stack */
			uint8_t within;  /* this hook was called within another one: our frames are
					    in its stack */
			uint8_t selective;   /* not every event is recorded: admission.h decides */
			uint8_t free_stacks; /* frees have stacks, too */
			uint8_t unused[3];
		};
		uint64_t unusual; /* any of these */
	};
	struct admission admission;
	void *nested_block; /* what the last nested allocation returned */
	void *inner_block;  /* what a call recorded within an operator allocated: allocation.h */
	void *outer_block;  /* what an operator frees, by a call within it perhaps */
	struct handler_queue pending;
	struct unwind_stack bounds;
	struct nesting_memo nesting;
	uint64_t *frames; /* for captures without the cache, innermost first */
	uint32_t tag;     /* of the stream's next allocation */
	int tid;
	char name[16];
	struct live_own *live;      /* MODE=live */
	struct cull_holder *holder; /* CULL: of what it holds back, NULL: nothing yet */
	uint32_t replaced;          /* … of the realloc being written: see cull_replaces() */
	struct thread *ended_next;

	/* From here on kept when the next thread gets the struct, as are the chunk and what else is
	 * known of the stream's last event: thread_ended.h. */
	uint32_t number;          /* of this struct in the process, from 1 */
	struct stack_cache stack; /* of the last event that has one */
	uint32_t stream;
	uint32_t sequence;
	uint32_t slot_size;
	uint64_t slot_offset; /* in the file */
	void *exec_memory;    /* an environment made for a vfork child, for the next one */
	size_t exec_size;
	struct thread *all_next;
};

/* In `outer`: the agent works on its own, outside of any hook, with signals blocked. */
#define THREAD_AT_WORK 1

/*
 * Around such work, in a signal bracket: what is allocated meanwhile waits in `pending`. Returns
 * what thread_end_work() puts back: a handler may do this in the middle of an allocation.
 */
static inline uint64_t thread_begin_work(struct thread *thread)
{
	uint64_t outer = thread->outer;

	thread->outer = THREAD_AT_WORK;
	thread->busy = 1;
	compiler_barrier();
	return outer;
}

static inline void thread_end_work(struct thread *thread, uint64_t outer)
{
	compiler_barrier();
	thread->busy = 0;
	compiler_barrier();
	if (unlikely(thread->pending.used))
		handler_queue_flush_slow(thread);
	thread->outer = outer;
}

/* Around what a hook does for its event. */
static inline void thread_begin_record(struct thread *thread)
{
	thread->busy = 1;
	compiler_barrier();
}

static inline void thread_end_record(struct thread *thread)
{
	compiler_barrier();
	thread->busy = 0;
	compiler_barrier();
	if (unlikely(thread->pending.used))
		handler_queue_flush_slow(thread);
}

/* What lies before end is whole now: one store, see trace_chunk.commit. */
static inline void thread_commit(struct thread *thread, uint8_t *end)
{
	uint32_t size = (uint32_t)(end - (uint8_t *)(thread->chunk + 1));

	compiler_barrier();
	__atomic_store_n(&thread->chunk->commit, trace_commit_word(thread->sequence, size),
			 __ATOMIC_RELEASE);
	thread->cursor = end;
}

// 16 bytes of TLS with the tag. Eight would spare a thread's stack 64 bytes in one program of
// eight, for glibc rounds the sum of all up to 64; in the others nothing.
extern __thread struct thread *thread_self __attribute__((tls_model("initial-exec")));

/* What mallow_set_tag() said last: kept where the thread has no struct, and across fork. */
extern __thread uint32_t thread_tag __attribute__((tls_model("initial-exec")));

/* The part of a thread's memory that pending.words points to; of a wiped thread, too. */
static inline uint64_t *thread_pending_words(struct thread *thread)
{
	return (uint64_t *)((char *)thread + bytes_round_up(sizeof(*thread), 64));
}

/* The caller of the hook that the thread is in, wherever the agent is now. */
static inline struct unwind_state thread_caller(const struct thread *thread)
{
	return arch_caller_at(thread->outer);
}

/*
 * Around a real function that allocates for itself, called by a hook of ours that records no
 * allocation: pthread_create, posix_spawn. Our frame does not show in those stacks.
 */
static inline void thread_set_passing(bool passing)
{
	struct thread *thread = thread_self;

	if (thread && thread->cursor)
		thread->passing = passing;
}

static inline bool thread_is_passing(void)
{
	const struct thread *thread = thread_self;

	return thread && thread->cursor && thread->passing;
}

/*
 * What is known of the thread's stack, outside of an event, which would have emptied it if it is
 * out of date: *none then.
 */
static inline struct unwind_stack *thread_bounds(struct thread *thread, struct unwind_stack *none)
{
	*none = (struct unwind_stack){0};
	return thread->epoch == __atomic_load_n(&process->epoch, __ATOMIC_ACQUIRE) ? &thread->bounds
										   : none;
}

/* Frames that a capture may hold: DEPTH. */
static inline size_t thread_depth_limit(void)
{
	return config.value[SETTING_DEPTH];
}

#endif
