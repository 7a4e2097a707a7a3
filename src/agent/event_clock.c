#include "agent/event_clock.h"

#include <linux/membarrier.h>

#include "agent/link_map.h"
#include "agent/process.h"
#include "agent/slow.h"
#include "agent/syscall.h"
#include "agent/thread.h"

int (*event_clock_coarse)(clockid_t clock, struct timespec *ret);

// Whether the kernel was asked to make membarrier() cheap for this process; kept across fork.
static enum { BARRIER_UNKNOWN, BARRIER_READY, BARRIER_NONE } barrier_state;

/* Now, while there is one thread: later the kernel waits for all processors, 15 to 30 ms. */
static void prepare_barrier(void)
{
	if (barrier_state == BARRIER_UNKNOWN)
		barrier_state = sys_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0
					? BARRIER_READY
					: BARRIER_NONE;
}

void event_clock_init(void)
{
	struct timespec now;
	void *found = link_map_find("__vdso_clock_gettime");

	*(void **)&event_clock_coarse = found;
	if (found && event_clock_coarse(CLOCK_MONOTONIC_COARSE, &now))
		event_clock_coarse = NULL;
	if (event_clock_coarse)
		prepare_barrier();
}

static void set_lone_thread(struct thread *thread)
{
	__atomic_store_n(&process->lone_thread, thread, __ATOMIC_SEQ_CST);
}

void event_clock_begin(struct thread *thread, bool first)
{
	event_clock_expire(&thread->clock);
	set_lone_thread(first && event_clock_coarse ? thread : NULL);
}

void event_clock_end_lone(void)
{
	set_lone_thread(NULL);
}

/* A number that changes with everything that other threads record; *count: how many they are. */
static uint64_t activity_of_others(const struct thread *thread, uint32_t *count)
{
	const struct thread *other = __atomic_load_n(&process->threads, __ATOMIC_ACQUIRE);
	uint64_t sum = 1;

	*count = 0;
	for (; other; other = other->all_next) {
		if (other == thread)
			continue;
		sum = sum * 31 + __atomic_load_n(&other->sequence, __ATOMIC_RELAXED);
		sum = sum * 31 + (uint64_t)__atomic_load_n(&other->cursor, __ATOMIC_RELAXED);
		++*count;
	}
	return sum;
}

static bool others_are_outside(const struct thread *thread)
{
	const struct thread *other = __atomic_load_n(&process->threads, __ATOMIC_ACQUIRE);

	for (; other; other = other->all_next)
		if (other != thread && __atomic_load_n(&other->outer, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

static bool make_others_pass_barrier(void)
{
	return barrier_state == BARRIER_READY &&
	       sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

/* No other thread has recorded anything lately. In a slow bracket. */
static void become_lone(struct thread *thread)
{
	uint32_t count;

	set_lone_thread(thread);
	// Whoever is inside a hook now may hold a time from before; whoever recorded since has
	// ended this already, and must not find it begun again.
	if (make_others_pass_barrier() && others_are_outside(thread) &&
	    activity_of_others(thread, &count) == thread->clock.others)
		return;
	set_lone_thread(NULL);
}

static never_inline void try_alone_slow(struct thread *thread)
{
	struct event_clock *clock = &thread->clock;
	struct slow slow;
	uint32_t count;
	uint64_t others = activity_of_others(thread, &count);
	bool idle = others == clock->others;

	// Looking at thousands must not cost more for being done often.
	clock->apart = EVENT_CLOCK_APART + EVENT_CLOCK_APART / 16 * count;
	clock->others = others;
	if (!idle || !event_clock_coarse || process_system_calls_forbidden())
		return;
	slow_begin(&slow);
	if (!__atomic_load_n(&process->lone_thread, __ATOMIC_ACQUIRE))
		become_lone(thread);
	slow_end(&slow);
}

uint64_t event_clock_read_slow(struct thread *thread)
{
	struct event_clock *clock = &thread->clock;
	const struct thread *lone = __atomic_load_n(&process->lone_thread, __ATOMIC_ACQUIRE);

	if (!lone && unlikely(clock->apart-- == 0)) {
		try_alone_slow(thread);
		lone = __atomic_load_n(&process->lone_thread, __ATOMIC_ACQUIRE);
	}
	if (lone == thread) {
		clock->left = EVENT_CLOCK_REUSES;
		// Before the counter: a tick in between makes the next event read it again.
		event_clock_coarse(CLOCK_MONOTONIC_COARSE, &clock->coarse);
	} else if (lone) {
		set_lone_thread(NULL);
	}
	clock->ticks = clock_ticks();
	return clock->ticks;
}
