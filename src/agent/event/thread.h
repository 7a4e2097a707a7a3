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
 * Only the thread itself touches its struct. Other threads touch all_next and tid, and at the
 * process's end the slot.
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
struct patched;
struct script_stack;

struct thread {
	/*
	 * Where the next event is encoded, and the end of its room. Both 0 while there is no slot:
	 * at start and end, after fork.
	 */
	uint8_t *cursor;
	uint8_t *limit;
	struct arch_mark outer; /* the guard, see above; sp 0: in no hook */
	struct trace_chunk *chunk;
	struct trace_encoder encoder;
	struct event_clock clock;
	uint32_t depth; /* of the stream's stack; stack.shared of it are in `stack`, too */
	uint32_t epoch; /* the process's when `stack` and `bounds` were last valid */
	uint8_t busy;
	uint8_t announced; /* the thread record is written */
	uint8_t ended;     /* its key destructor ran */
	uint8_t forked;    /* this struct was kept over a fork that interrupted a write */
	union {
		struct {
			uint8_t resync;      /* the encoder's state may be half changed */
			uint8_t passing;     /* see thread_set_passing() */
			uint8_t within;      /* in a hook within another one: strip our frames */
			uint8_t selective;   /* the sink and admission.h choose what is recorded */
			uint8_t free_stacks; /* frees have stacks, too */
			uint8_t unused[3];
		};
		uint64_t unusual; /* any of these */
	};
	struct admission admission;
	const struct patched *patched; /* the hook that the thread is in is that of this function */
	void *nested_block;            /* what the last nested allocation returned */
	void *inner_block; /* the block that a call within an operator allocated and recorded */
	void *outer_block; /* the block that an operator frees, perhaps by a call within it */
	/* The same as `outer`, of a hook whose event waits in `pending`; 0: no such hook is
	 * running. */
	struct arch_mark waiting;
	struct handler_queue pending;
	struct unwind_stack bounds;
	struct nesting_memo nesting;
	uint64_t *frames; /* buffer for captures without the cache, innermost first */
	uint32_t tag;     /* of the stream's next allocation */
	int tid;
	char name[16];
	struct live_own *live;      /* MODE=live */
	struct cull_holder *holder; /* CULL: what the thread holds back; NULL: nothing yet */
	/* CULL: for the realloc that is being written, see cull_replaces() */
	uint32_t replaced;
	struct thread *ended_next;

	/* The next thread that gets the struct keeps what follows. It also keeps the chunk and the
	 * state of the stream's last event: thread_ended.h. */
	uint32_t number;             /* of this struct in the process, from 1 */
	struct stack_cache stack;    /* the stack of the last event that has one */
	struct script_stack *script; /* what of it is of scripts; NULL: nothing so far */
	uint32_t stream;
	uint32_t sequence;
	uint32_t slot_size;
	uint64_t slot_offset; /* in the file */
	/* Atomic, private slots only: up to here (a commit word) somebody has taken care of what
	 * the slot holds: appended it, or counted it as lost. */
	uint64_t settled;
	void *exec_memory; /* an environment made for a vfork child; the next one reuses it */
	size_t exec_size;
	struct thread *all_next;
};

/* A value of outer.sp: the agent works on its own, outside of any hook, with signals blocked. */
#define THREAD_AT_WORK 1

/*
 * Around such work, in a signal bracket. What is allocated meanwhile waits in `pending`. The result
 * of thread_begin_work() goes to thread_end_work(), which puts it back: the work may be that of a
 * handler in the middle of an allocation.
 */
static inline struct arch_mark thread_begin_work(struct thread *thread)
{
	struct arch_mark outer = thread->outer;

	thread->outer.sp = THREAD_AT_WORK;
	thread->busy = 1;
	compiler_barrier();
	return outer;
}

static inline void thread_end_work(struct thread *thread, struct arch_mark outer)
{
	compiler_barrier();
	thread->busy = 0;
	compiler_barrier();
	if (unlikely(thread->pending.used))
		handler_queue_flush_slow(thread);
	thread->outer = outer;
}

/* Around what a hook does to record its event. */
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

/* Commits everything up to `end`, by one store: trace_chunk.commit. */
static inline void thread_commit(struct thread *thread, uint8_t *end)
{
	uint32_t size = (uint32_t)(end - (uint8_t *)(thread->chunk + 1));

	compiler_barrier();
	__atomic_store_n(&thread->chunk->commit, trace_commit_word(thread->sequence, size),
			 __ATOMIC_RELEASE);
	thread->cursor = end;
}

// 16 bytes of TLS together with the tag. glibc rounds the sum of all TLS up to 64 bytes, so 8 bytes
// would save 64 bytes of a thread's stack in one program of eight, and nothing in the others.
extern __thread struct thread *thread_self __attribute__((tls_model("initial-exec")));

/* The last value of mallow_set_tag(). Kept even if the thread has no struct, and across fork. */
extern __thread uint32_t thread_tag __attribute__((tls_model("initial-exec")));

/*
 * The part of a thread's memory that pending.words points to. Right also if fork has wiped the
 * thread.
 */
static inline uint64_t *thread_pending_words(struct thread *thread)
{
	return (uint64_t *)((char *)thread + bytes_round_up(sizeof(*thread), 64));
}

/* The caller of the hook that the thread is in. The agent may be anywhere inside. */
static inline struct unwind_state thread_caller(const struct thread *thread)
{
	return arch_marked(thread->outer);
}

/*
 * Around a real function that allocates for itself and whose hook records no allocation:
 * pthread_create, posix_spawn. Our frame is then taken out of the stacks.
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
 * For walks outside of an event: returns the thread's `bounds`, or, if these are out of date, none,
 * which it makes empty.
 */
static inline struct unwind_stack *thread_bounds(struct thread *thread, struct unwind_stack *none)
{
	*none = (struct unwind_stack){0};
	return thread->epoch == __atomic_load_n(&process->epoch, __ATOMIC_ACQUIRE) ? &thread->bounds
										   : none;
}

/* The number of frames that a capture may hold: DEPTH. */
static inline size_t thread_depth_limit(void)
{
	return config.value[SETTING_DEPTH];
}

#endif
