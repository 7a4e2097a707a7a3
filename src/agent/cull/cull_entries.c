#include "agent/cull/cull_entries.h"

#include "agent/event/thread.h"
#include "agent/ground/clock.h"
#include "agent/ground/lock.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/signal_bracket.h"

struct cull *cull_current(void)
{
	return process ? __atomic_load_n(&process->cull, __ATOMIC_ACQUIRE) : NULL;
}

struct cull *cull_make(void)
{
	struct cull *none = NULL, *made;

	if (cull_current())
		return cull_current();
	made = own_pages_allocate(sizeof(*made));
	if (!made)
		return NULL;
	made->limit = CULL_NEVER;
	if (!process_system_calls_forbidden())
		made->start_ns = clock_monotonic_ns();
	made->start_ticks = clock_ticks();
	// If another thread was faster, this one stays unused.
	__atomic_compare_exchange_n(&process->cull, &none, made, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_ACQUIRE);
	return cull_current();
}

static struct cull_holder *take_idle(struct cull *cull)
{
	struct cull_holder *holder;

	if (!cull->idle || !lock_try(&cull->idle_lock))
		return NULL;
	holder = cull->idle;
	if (holder)
		cull->idle = holder->next_idle;
	lock_release(&cull->idle_lock);
	return holder;
}

struct cull_holder *cull_holder(struct thread *thread, struct cull *cull)
{
	struct signal_bracket bracket;

	if (likely(thread->holder && thread->holder->cull == cull))
		return thread->holder;
	signal_bracket_begin(&bracket); // the lock must not be left
	thread->holder = take_idle(cull);
	signal_bracket_end(&bracket);
	if (!thread->holder)
		thread->holder = own_pages_allocate(sizeof(*thread->holder));
	if (thread->holder)
		thread->holder->cull = cull;
	return thread->holder;
}

/* Makes a segment of entries for a holder that has no unused one. */
static bool add_segment(struct cull *cull, struct cull_holder *holder)
{
	struct cull_entry *segment;
	uint32_t number;

	if (__atomic_load_n(&cull->count, __ATOMIC_RELAXED) >= CULL_SEGMENTS)
		return false;
	segment = own_pages_allocate(CULL_SEGMENT_ENTRIES * sizeof(*segment));
	number = segment ? __atomic_fetch_add(&cull->count, 1, __ATOMIC_RELAXED) : CULL_SEGMENTS;
	if (number >= CULL_SEGMENTS)
		return false; // this memory stays unused, at most once for each thread
	// The number 0 is none.
	for (uint32_t i = number ? 0 : 1; i < CULL_SEGMENT_ENTRIES; i++) {
		segment[i].next = holder->unused;
		segment[i].holder = holder;
		holder->unused = number << CULL_SEGMENT_BITS | i;
	}
	__atomic_store_n(&cull->segments[number], segment, __ATOMIC_RELEASE);
	return true;
}

uint32_t cull_take_unused(struct cull *cull, struct cull_holder *holder)
{
	uint32_t number;

	if (!holder->unused)
		holder->unused = __atomic_exchange_n(&holder->returned, 0, __ATOMIC_ACQUIRE);
	if (!holder->unused && !add_segment(cull, holder))
		return 0;
	number = holder->unused;
	holder->unused = cull_entry(cull, number)->next;
	return number;
}

void cull_give_back(struct thread *thread, struct cull *cull, uint32_t number, bool in_handler)
{
	struct cull_entry *entry = cull_entry(cull, number);
	struct cull_holder *holder = entry->holder;

	if (holder == thread->holder && !in_handler) {
		entry->next = holder->unused;
		holder->unused = number;
		return;
	}
	entry->next = __atomic_load_n(&holder->returned, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&holder->returned, &entry->next, number, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

void cull_leave_holder(struct cull *cull, struct cull_holder *holder)
{
	if (!lock_try(&cull->idle_lock))
		return; // the holder is lost: nobody waits for a lock here
	holder->next_idle = cull->idle;
	cull->idle = holder;
	lock_release(&cull->idle_lock);
}
