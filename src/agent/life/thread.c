#include "agent/life/thread.h"

#include <errno.h>
#include <stddef.h>

#include "agent/arch/kept_call.h"
#include "agent/arch/machine.h"
#include "agent/arch/syscall.h"
#include "agent/event/sink.h"
#include "agent/ground/libc.h"
#include "agent/ground/next_functions.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/signal_bracket.h"
#include "agent/life/process.h"
#include "agent/life/process_facts.h"
#include "agent/life/thread_ended.h"
#include "agent/record/fact_record.h"
#include "agent/record/memory_use.h"
#include "agent/record/slot.h"
#include "base/bytes.h"

// thread_self points here while the thread is being set up: hooks let its calls pass.
static struct thread starting;

// The key of thread-specific data whose destructor is thread_ends(). One per process, kept across
// fork.
static unsigned int end_key;
static uint32_t end_key_state; /* 0 none, 1 being made, 2 there */

/* DEPTH frames, and one more for the mark that the stack was cut. */
static size_t frame_room(void)
{
	return thread_depth_limit() + 8;
}

/* struct thread and the arrays after it. Their pages are touched only as far as they are used. */
size_t thread_memory_size(void)
{
	size_t size = bytes_round_up(sizeof(struct thread), 64) +
		      HANDLER_QUEUE_WORDS * sizeof(uint64_t) + frame_room() * sizeof(uint64_t);

	if (sink->thread_size)
		size += sink->thread_size(frame_room());
	return bytes_round_up(size, arch_page());
}

static void set_parts(struct thread *thread)
{
	thread->pending.words = thread_pending_words(thread);
	thread->frames = thread->pending.words + HANDLER_QUEUE_WORDS;
	if (sink->thread_begin)
		sink->thread_begin(thread, thread->frames + frame_room(), frame_room());
	thread->stack.depth_max = thread_depth_limit();
	thread->stack.broken_pc = TRACE_PC_BROKEN;
	thread->stack.truncated_pc = TRACE_PC_TRUNCATED;
	// No 0 is stored: a stop in another thread may have set it just now.
	if (admission_wanted())
		thread->selective = 1;
	thread->free_stacks = config_free_stacks();
}

static void list_thread(struct thread *thread)
{
	struct thread *head = __atomic_load_n(&process->threads, __ATOMIC_RELAXED);

	do
		thread->all_next = head;
	while (!__atomic_compare_exchange_n(&process->threads, &head, thread, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static struct thread *create_thread(void)
{
	struct thread *thread = thread_ended_take();

	if (thread)
		return thread;
	thread = own_pages_allocate(thread_memory_size());
	if (!thread) {
		process_count_loss(TRACE_LOSS_NO_MEMORY);
		return NULL;
	}
	if (!process_system_calls_forbidden() &&
	    sys_madvise(thread, thread_memory_size(), MADV_WIPEONFORK)) {
		// Not wiped, this memory would make a child go on in its parent's slot.
		own_pages_release(thread, thread_memory_size());
		process_count_loss(TRACE_LOSS_NO_MEMORY);
		return NULL;
	}
	list_thread(thread);
	return thread;
}

static void end_stream(struct thread *thread)
{
	thread_record_end(thread);
	sink_thread_ends(thread);
	slot_rest(thread);
	unwind_thread_ends(&thread->bounds);
	thread->epoch = ~process->epoch; // the next event, if there is one, empties the caches
	thread_ended_put(thread);
}

/* Runs in the thread that ends; the program's other destructors may still allocate after it. */
static void thread_ends(void *value)
{
	struct thread *thread = thread_self;
	struct signal_bracket bracket;
	struct arch_mark outer;

	if (thread != value || thread == &starting || !thread->cursor || thread->busy)
		return;
	signal_bracket_begin(&bracket);
	outer = thread_begin_work(thread);
	end_stream(thread);
	thread_end_work(thread, outer);
	signal_bracket_end(&bracket);
}

/* thread_self is `starting`: what these functions allocate is not recorded. */
static void watch_end(struct thread *thread)
{
	uint32_t none = 0;

	if (!real.pthread_key_create || !real.pthread_setspecific)
		return;
	if (__atomic_compare_exchange_n(&end_key_state, &none, 1, false, __ATOMIC_ACQUIRE,
					__ATOMIC_ACQUIRE))
		__atomic_store_n(&end_key_state,
				 (int)kept_call((void *)real.pthread_key_create, &end_key,
						(void *)thread_ends) == 0
					 ? 2
					 : 1,
				 __ATOMIC_RELEASE);
	if (__atomic_load_n(&end_key_state, __ATOMIC_ACQUIRE) == 2)
		kept_call((void *)real.pthread_setspecific, (void *)(uintptr_t)(uint64_t)end_key,
			  thread);
}

void thread_do(void (*work)(struct thread *thread))
{
	struct thread *thread = thread_self;
	struct signal_bracket bracket;
	struct arch_mark outer;

	if (!thread || !thread->cursor || thread->busy)
		return;
	signal_bracket_begin(&bracket);
	outer = thread_begin_work(thread);
	work(thread);
	thread_end_work(thread, outer);
	signal_bracket_end(&bracket);
}

void thread_renamed(void)
{
	thread_do(thread_record_name);
}

/* Writes the thread's first record, unless it has, and goes on after its own end. */
static void announce_thread(struct thread *thread)
{
	struct fact_record sample;

	if (thread->announced)
		return;
	thread_record_begin(thread);
	if (thread->stream == 0 && !process->facts_written) {
		process->facts_written = true;
		process_facts_write(thread);
		// So a program that does nothing for long has one. And `mallow run` learns what is
		// ours.
		if (memory_use_take_due(&sample))
			fact_record_write(thread, &sample);
	}
}

/* Gives the thread a stream of the recording. */
static void join_recording(struct thread *thread)
{
	bool has_stream = thread->chunk; // that of an ended thread: thread_ended.h

	if (!has_stream)
		thread->stream = __atomic_fetch_add(&process->next_stream, 1, __ATOMIC_RELAXED);
	thread->epoch = process->epoch;
	if (!thread->number)
		thread->number = __atomic_add_fetch(&process->threads_made, 1, __ATOMIC_RELAXED);
	event_clock_begin(thread, thread->stream == 0 && !has_stream);
}

/* Returns the thread if it can be recorded. *watch: its end must be watched, too. */
static struct thread *begin_thread(struct thread **own, bool *watch, bool for_event)
{
	struct thread *thread;

	if (!process_start())
		return NULL;
	process_tell_again(false);
	if (!*own)
		*own = create_thread();
	else if (!(*own)->frames)
		list_thread(*own); // wiped by fork, and the list, too
	thread = *own;
	if (!thread)
		return NULL;
	if (!thread->frames) { // new, reused, or wiped by fork
		set_parts(thread);
		thread->tid = process_system_calls_forbidden() ? 0 : sys_gettid();
		join_recording(thread);
		*watch = true;
	}
	if (!slot_open(thread)) {
		if (for_event)
			fact_record_lost(thread, 1);
		return NULL;
	}
	thread->busy = 1;
	announce_thread(thread);
	thread->busy = 0;
	return thread->cursor ? thread : NULL;
}

struct beginning {
	struct thread *thread; /* its struct; NULL: it has none yet */
	struct thread *begun;
	bool watch;
	bool for_event;
};

static void begin_here(void *argument)
{
	struct beginning *beginning = argument;

	beginning->begun =
		begin_thread(&beginning->thread, &beginning->watch, beginning->for_event);
}

/*
 * Begins the thread. Returns what thread_self must become: a thread that could not begin keeps its
 * memory, and its next event tries again. In a signal bracket, with thread_self == &starting.
 */
static struct thread *begin_in(const struct signal_bracket *bracket, struct thread *own,
			       bool for_event, struct thread **begun)
{
	struct beginning beginning = {.thread = own, .for_event = for_event};

	handler_queue_renew = thread_renew_slow;
	if (process_prepare())
		signal_bracket_call(bracket, begin_here, &beginning);
	// Not on a stack of our own, since the C library may call the program's allocator for it.
	if (beginning.watch)
		watch_end(beginning.thread);
	*begun = beginning.begun;
	return beginning.thread;
}

struct thread *thread_lend(void)
{
	struct thread *thread = process_state() == PROCESS_RECORDING ? create_thread() : NULL;

	if (!thread)
		return NULL;
	set_parts(thread);
	thread->tid = process_system_calls_forbidden() ? 0 : sys_gettid();
	join_recording(thread);
	thread->busy = 1;
	if (!slot_open(thread))
		return NULL;
	announce_thread(thread);
	return thread->cursor ? thread : NULL;
}

void thread_take_back(struct thread *thread)
{
	thread->busy = 0;
	end_stream(thread);
}

/* In a child: wipes the kept thread and the process, as the kernel would have done. */
static void forget_parent(struct thread *thread)
{
	process_forget_parent();
	// The copies of the slot and of the stack cache stay mapped: they are not worth a system
	// call.
	memset(thread, 0, sizeof(*thread));
	// What lies behind the struct is not wiped: as in a struct that had a thread before.
	thread->number = __atomic_add_fetch(&process->threads_made, 1, __ATOMIC_RELAXED);
	sys_madvise(thread, thread_memory_size(), MADV_WIPEONFORK);
}

void thread_renew_slow(struct thread *thread)
{
	struct handler_queue pending;
	struct arch_mark outer = thread->outer;
	uint8_t busy = thread->busy;
	struct thread *begun;
	struct signal_bracket bracket;

	signal_bracket_begin(&bracket);
	pending = thread->pending; // a handler may have added something until now
	thread_self = &starting;
	forget_parent(thread);
	thread->pending = pending;
	thread = begin_in(&bracket, thread, true, &begun);
	thread_self = thread;
	thread->outer = outer;
	thread->busy = busy;
	signal_bracket_end(&bracket);
}

struct thread *thread_begin_slow(bool for_event)
{
	struct thread *thread = thread_self;
	struct thread *begun;
	struct signal_bracket bracket;

	if (thread == &starting || (thread && thread->outer.sp && thread->busy))
		return NULL;
	signal_bracket_begin(&bracket);
	thread = thread_self; // a handler may have come first
	if (thread && thread->cursor) {
		signal_bracket_end(&bracket);
		return thread;
	}
	thread_self = &starting;
	// This is a child, and the interrupted write was given up.
	if (thread && thread->forked)
		forget_parent(thread);
	thread_self = begin_in(&bracket, thread, for_event, &begun);
	signal_bracket_end(&bracket);
	return begun;
}
