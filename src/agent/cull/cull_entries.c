#include "agent/cull/cull_entries.h"

#include "agent/event/thread.h"
#include "agent/ground/clock.h"
#include "agent/ground/lock.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/signal_bracket.h"

#define ADDRESS_UNIT_BITS 3
#define ADDRESS_BITS      47
#define NUMBER_MASK       ((UINT64_C(1) << CULL_NUMBER_BITS) - 1)

static uint64_t word_of(uint64_t address, uint32_t number)
{
	return address >> ADDRESS_UNIT_BITS << CULL_NUMBER_BITS | number;
}

static bool has_address(uint64_t word, uint64_t address)
{
	return word >> CULL_NUMBER_BITS == address >> ADDRESS_UNIT_BITS;
}

static uint64_t *bucket_of(struct cull_table *table, uint64_t address)
{
	uint64_t hash = (address >> ADDRESS_UNIT_BITS) * UINT64_C(0x9e3779b97f4a7c15);

	return &table->words[(hash >> (64 - CULL_BUCKET_BITS)) * CULL_BUCKET];
}

static bool remove_word(uint64_t *place, uint64_t word)
{
	return __atomic_compare_exchange_n(place, &word, 0, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

bool cull_table_put(struct cull_table *table, uint64_t address, uint32_t number, uint32_t *stale)
{
	uint64_t *bucket = bucket_of(table, address);

	*stale = 0;
	if (address >> ADDRESS_BITS)
		return false;
	*stale = cull_table_take(table, address);
	for (int i = 0; i < CULL_BUCKET; i++) {
		uint64_t none = 0;

		if (!__atomic_load_n(&bucket[i], __ATOMIC_RELAXED) &&
		    __atomic_compare_exchange_n(&bucket[i], &none, word_of(address, number), false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

uint32_t cull_table_take(struct cull_table *table, uint64_t address)
{
	uint64_t *bucket = bucket_of(table, address);

	for (int i = 0; i < CULL_BUCKET; i++) {
		uint64_t word = __atomic_load_n(&bucket[i], __ATOMIC_RELAXED);

		if (word && has_address(word, address) && remove_word(&bucket[i], word))
			return (uint32_t)(word & NUMBER_MASK);
	}
	return 0;
}

bool cull_table_take_this(struct cull_table *table, uint64_t address, uint32_t number)
{
	uint64_t *bucket = bucket_of(table, address), word = word_of(address, number);

	for (int i = 0; i < CULL_BUCKET; i++)
		if (__atomic_load_n(&bucket[i], __ATOMIC_RELAXED) == word)
			return remove_word(&bucket[i], word);
	return false;
}

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
