#include "agent/life/thread_ended.h"

#include <errno.h>
#include <stddef.h>

#include "agent/arch/syscall.h"
#include "agent/event/sink.h"
#include "agent/event/thread.h"
#include "agent/ground/libc.h"
#include "agent/ground/lock.h"
#include "agent/record/slot.h"
#include "agent/script/script_stack.h"

/* After so many threads that still run the search ends, and new memory is allocated. */
#define LOOKS_MAX 8

struct ended_threads *ended_threads;

void thread_ended_put(struct thread *thread)
{
	struct thread **arrived = &ended_threads->arrived;
	struct thread *head = __atomic_load_n(arrived, __ATOMIC_RELAXED);

	if (thread->ended)
		return;
	thread->ended = 1;
	do
		thread->ended_next = head;
	while (!__atomic_compare_exchange_n(arrived, &head, thread, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
}

static void append_thread(struct ended_threads *ended, struct thread *thread)
{
	thread->ended_next = NULL;
	if (ended->first)
		ended->last->ended_next = thread;
	else
		ended->first = thread;
	ended->last = thread;
}

/* Appends the threads that arrived to the list, the one that ended first in front. */
static void take_arrived(struct ended_threads *ended)
{
	struct thread *newest = __atomic_exchange_n(&ended->arrived, NULL, __ATOMIC_ACQUIRE);
	struct thread *oldest = NULL;

	while (newest) {
		struct thread *before = newest->ended_next;

		newest->ended_next = oldest;
		oldest = newest;
		newest = before;
	}
	while (oldest) {
		struct thread *next = oldest->ended_next;

		append_thread(ended, oldest);
		oldest = next;
	}
}

/*
 * Takes a thread out that the kernel no longer knows. NULL: it knows all that were looked at. An id
 * may be another thread's by now, and then that entry waits longer.
 */
static struct thread *take_gone(struct ended_threads *ended)
{
	for (int i = 0; i < LOOKS_MAX && ended->first; i++) {
		struct thread *thread = ended->first;

		ended->first = thread->ended_next;
		if (sys_tgkill(process->pid, thread->tid, 0) == -ESRCH)
			return thread;
		append_thread(ended, thread);
	}
	return NULL;
}

/* Whether what the thread wrote last is whole. */
static bool can_hand_on_stream(const struct thread *thread)
{
	return thread->chunk && !thread->busy && !thread->resync;
}

/* Prepares the struct of a thread that is gone for the next one. */
static void recycle_thread(struct thread *thread)
{
	struct trace_encoder encoder = thread->encoder;
	uint32_t depth = thread->depth;
	struct trace_chunk *chunk;

	// The thread may have allocated again after its end, in a later destructor.
	sink_thread_ends(thread);
	stack_cache_recycle(&thread->stack);
	script_stack_clear(thread->script);
	if (!can_hand_on_stream(thread))
		slot_forget(thread);
	chunk = thread->chunk;
	memset(thread, 0, offsetof(struct thread, number));
	if (!chunk) {
		thread->sequence = 0;
		return;
	}
	thread->chunk = chunk;
	thread->encoder = encoder;
	thread->depth = depth;
}

struct thread *thread_ended_take(void)
{
	struct ended_threads *ended = ended_threads;
	struct thread *thread;

	// Waits for the lock: without it a new struct is allocated, and never given back.
	if (process_system_calls_forbidden() || !lock_wait(&ended->lock))
		return NULL;
	take_arrived(ended);
	thread = take_gone(ended);
	lock_release(&ended->lock);
	if (thread)
		recycle_thread(thread);
	return thread;
}
