#include "agent/event/event_clock.h"

#include "agent/event/sink.h"
#include "agent/event/thread.h"
#include "agent/ground/lock.h"
#include "agent/ground/signal_bracket.h"

uint16_t event_clock_owners[EVENT_CLOCK_PIECES];

static void set_lone_thread(struct thread *thread)
{
	__atomic_store_n(&process->lone_thread, thread, __ATOMIC_SEQ_CST);
}

static uint16_t owner_of(const struct thread *thread)
{
	return __atomic_load_n(&thread->clock.owner, __ATOMIC_RELAXED);
}

/* A thread that a fork has wiped in the middle of a hook has no number, and shares no times. */
static bool may_share(const struct thread *thread)
{
	uint16_t owner = owner_of(thread);

	return owner != EVENT_CLOCK_UNTOUCHED && owner != EVENT_CLOCK_NOBODY;
}

/*
 * How often a thread reads the counter before it looks whether it is alone. With thousands of
 * threads the look costs more, so it comes less often; a thread that lives shortly never looks.
 */
static uint32_t readings_until_look(uint32_t others)
{
	return EVENT_CLOCK_APART + EVENT_CLOCK_APART / 16 * others;
}

void event_clock_begin(struct thread *thread, bool first)
{
	uint32_t number = thread->number;

	event_clock_expire(&thread->clock);
	thread->clock.apart = readings_until_look(number);
	if (!clock_of_kernel || number >= EVENT_CLOCK_NOBODY)
		number = EVENT_CLOCK_NOBODY;
	__atomic_store_n(&thread->clock.owner, (uint16_t)number, __ATOMIC_SEQ_CST);
	// A thread that begins to watch from now on finds this one in the list. And with CULL any
	// thread may write this one's allocations: a free with the same time would sort before its
	// allocation.
	if (toggle_is_watched() || sink->exact_times)
		event_clock_be_exact(thread);
	set_lone_thread(first && may_share(thread) ? thread : NULL);
}

void event_clock_be_exact(struct thread *thread)
{
	__atomic_store_n(&thread->clock.owner, EVENT_CLOCK_NOBODY, __ATOMIC_SEQ_CST);
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
		sum = sum * 31 + (uintptr_t)__atomic_load_n(&other->cursor, __ATOMIC_RELAXED);
		++*count;
	}
	return sum;
}

static bool others_are_outside(const struct thread *thread)
{
	const struct thread *other = __atomic_load_n(&process->threads, __ATOMIC_ACQUIRE);

	for (; other; other = other->all_next)
		if (other != thread && __atomic_load_n(&other->outer.sp, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

/* Makes this the lone thread, if possible: no other has recorded lately. In a signal bracket. */
static void become_lone(struct thread *thread)
{
	uint32_t count;

	set_lone_thread(thread);
	// A thread that is in a hook now may hold a time from before. One that has recorded since
	// has ended our being alone already, and must not find that it goes on.
	if (barrier_pass_others() && others_are_outside(thread) &&
	    activity_of_others(thread, &count) == thread->clock.others) {
		// Others may have read the counter after our last reading.
		event_clock_expire(&thread->clock);
		return;
	}
	set_lone_thread(NULL);
}

static never_inline void try_alone_slow(struct thread *thread)
{
	struct event_clock *clock = &thread->clock;
	struct signal_bracket bracket;
	uint32_t count;
	uint64_t others = activity_of_others(thread, &count);
	bool idle = others == clock->others;

	clock->apart = readings_until_look(count);
	clock->others = others;
	if (!idle || !may_share(thread) || process_system_calls_forbidden())
		return;
	signal_bracket_begin(&bracket);
	if (!__atomic_load_n(&process->lone_thread, __ATOMIC_ACQUIRE))
		become_lone(thread);
	signal_bracket_end(&bracket);
}

/* Takes a piece that nobody has touched. Returns whether the thread has it now. */
static bool claim_piece(uint16_t *entry, const struct thread *thread)
{
	uint16_t owner = EVENT_CLOCK_UNTOUCHED, self = owner_of(thread);

	return may_share(thread) && __atomic_compare_exchange_n(entry, &owner, self, false,
								__ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void give_to_everybody(uint16_t *entry, uint16_t self)
{
	uint16_t owner = __atomic_exchange_n(entry, EVENT_CLOCK_EVERYBODY, __ATOMIC_SEQ_CST);

	// The owner may have looked at the entry and not yet read the counter. If the lone thread
	// then shared an older time in this piece, that would be older than the owner's.
	if (owner != self && owner != EVENT_CLOCK_UNTOUCHED && owner != EVENT_CLOCK_EVERYBODY)
		event_clock_end_lone();
}

/* Reads the counter. A handler that interrupts this finds left 0, and reads it by itself. */
static void read_counter(struct thread *thread)
{
	struct event_clock *clock = &thread->clock;

	clock->left = 0;
	compiler_barrier();
	// The coarse clock first: if it moves in between, the next event reads the counter again.
	if (may_share(thread))
		clock_of_kernel(CLOCK_MONOTONIC_COARSE, &clock->coarse);
	clock->ticks = clock_ticks();
	compiler_barrier();
	clock->left = may_share(thread) ? EVENT_CLOCK_REUSES : 0;
}

/* Whether this is the lone thread. If it returns false, no other thread is, either. */
static bool is_lone(struct thread *thread)
{
	const struct thread *lone = __atomic_load_n(&process->lone_thread, __ATOMIC_ACQUIRE);

	if (lone && lone != thread) {
		event_clock_end_lone();
		lone = NULL;
	}
	if (!lone && unlikely(thread->clock.apart-- == 0)) {
		try_alone_slow(thread);
		lone = __atomic_load_n(&process->lone_thread, __ATOMIC_ACQUIRE);
	}
	return lone == thread;
}

uint64_t event_clock_read_slow(struct thread *thread, uint64_t address, uint64_t size)
{
	uint16_t *entry = event_clock_owner(address), self = owner_of(thread);
	uint16_t owner = __atomic_load_n(entry, __ATOMIC_RELAXED);
	bool apart = false, ends = !size;

	if (owner == EVENT_CLOCK_EVERYBODY) {
		apart = is_lone(thread);
	} else if ((size < EVENT_CLOCK_LARGE || is_lone(thread)) &&
		   (owner == self ? may_share(thread) : claim_piece(entry, thread))) {
		apart = true;
	} else {
		give_to_everybody(entry, self);
	}
	if (ends && !apart)
		clock_wait_for_loads();
	read_counter(thread);
	return thread->clock.ticks;
}
