#include "agent/cull/cull_entries.h"

#include "agent/event/thread.h"
#include "agent/ground/clock.h"
#include "agent/ground/lock.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/signal_bracket.h"
#include "agent/record/fact_record.h"
#include "agent/unwind/stack_cache.h"
#include "trace/encode.h"

#define ROOM_SIZE    65536u
#define PIECE_FRAMES 256 /* frames in one record; deeper stacks take several */

static uint64_t frame_of(const struct cached_frame *frame)
{
	return frame->id ? (uint64_t)frame->id * 2 + 1 : frame->pc * 2;
}

static uint64_t hash_of(const struct stack_cache *cache)
{
	uint64_t hash = cache->depth;

	for (uint32_t i = 1; i <= cache->depth; i++) {
		hash = (hash ^ frame_of(&cache->frames[i])) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return hash;
}

static bool is_same(const struct cull_stack *stack, const struct stack_cache *cache, uint64_t hash)
{
	if (stack->hash != hash || stack->depth != cache->depth)
		return false;
	for (uint32_t i = 0; i < stack->depth; i++)
		if (stack->frames[i] != frame_of(&cache->frames[i + 1]))
			return false;
	return true;
}

/* Searches the chain from `from` up to `to`, or to its end. */
static struct cull_stack *search_stacks(struct cull_stack *from, const struct cull_stack *to,
					const struct stack_cache *cache, uint64_t hash)
{
	for (; from && from != to; from = from->next)
		if (is_same(from, cache, hash))
			return from;
	return NULL;
}

/* Room for a new stack, which is not taken yet: the thread may use it for the next one. */
static struct cull_stack *make_room(struct cull_stacks *stacks, struct cull_room *room, size_t size)
{
	size_t more = size > ROOM_SIZE ? size : ROOM_SIZE;

	if (room->left >= size)
		return (struct cull_stack *)room->next;
	if (__atomic_fetch_add(&stacks->used, more, __ATOMIC_RELAXED) + more > CULL_STACKS_MAX) {
		__atomic_fetch_sub(&stacks->used, more, __ATOMIC_RELAXED);
		return NULL;
	}
	room->left = 0;
	room->next = own_pages_allocate(more);
	if (!room->next)
		return NULL;
	room->left = more;
	return (struct cull_stack *)room->next;
}

struct cull_stack *cull_stacks_find(struct cull_stacks *stacks, struct cull_room *room,
				    const struct stack_cache *cache)
{
	size_t size = sizeof(struct cull_stack) + cache->depth * sizeof(uint64_t);
	uint64_t hash = hash_of(cache);
	struct cull_stack **place = &stacks->heads[hash >> 32 & (CULL_STACKS_HEADS - 1)];
	struct cull_stack *head = __atomic_load_n(place, __ATOMIC_ACQUIRE), *made;
	struct cull_stack *found = search_stacks(head, NULL, cache, hash);

	if (found)
		return found;
	made = make_room(stacks, room, size);
	if (!made)
		return NULL;
	*made = (struct cull_stack){.next = head, .hash = hash, .depth = cache->depth};
	for (uint32_t i = 0; i < cache->depth; i++)
		made->frames[i] = frame_of(&cache->frames[i + 1]);
	while (!__atomic_compare_exchange_n(place, &head, made, false, __ATOMIC_RELEASE,
					    __ATOMIC_ACQUIRE)) {
		// Other threads added stacks in between, perhaps this one.
		found = search_stacks(head, made->next, cache, hash);
		if (found)
			return found;
		made->next = head;
	}
	room->next += size;
	room->left -= size;
	return made;
}

static uint32_t new_id(struct cull_stacks *stacks)
{
	return __atomic_add_fetch(&stacks->next_id, 1, __ATOMIC_RELAXED);
}

uint32_t cull_stack_define(struct cull_stacks *stacks, struct cull_stack *stack,
			   struct thread *thread, uint8_t *scratch)
{
	uint32_t id = __atomic_load_n(&stack->id, __ATOMIC_ACQUIRE), outer = 0, at = 0;

	if (id)
		return id;
	// Two threads may define the stack at once, each with an id of its own. Readers see that it
	// is the same.
	do {
		struct fact_record record = {
			.kind = TRACE_RECORD_STACK, .has_time = true, .ticks = clock_ticks()};
		uint8_t *end = scratch;

		id = new_id(stacks);
		fact_record_add(&record, id);
		fact_record_add(&record, outer);
		for (int i = 0; i < PIECE_FRAMES && at < stack->depth; i++, at++) {
			uint64_t frame = stack->frames[at];

			end = frame & 1 ? trace_put_frame(end, (uint32_t)(frame >> 1), 0)
					: trace_put_frame(end, 0, frame >> 1);
		}
		record.text = scratch;
		record.text_size = (size_t)(end - scratch);
		if (!fact_record_write(thread, &record))
			return 0;
		outer = id;
	} while (at < stack->depth);
	__atomic_store_n(&stack->id, id, __ATOMIC_RELEASE);
	return id;
}

static void write_sums(struct cull_stacks *stacks, struct cull_stack *stack, struct thread *thread,
		       uint8_t *scratch)
{
	struct fact_record record = {.kind = TRACE_RECORD_CULLED};
	uint32_t id = cull_stack_define(stacks, stack, thread, scratch);
	uint64_t calls;

	if (!id)
		return;
	calls = __atomic_exchange_n(&stack->calls, 0, __ATOMIC_RELAXED);
	fact_record_add(&record, id);
	fact_record_add(&record, calls);
	fact_record_add(&record, __atomic_exchange_n(&stack->bytes, 0, __ATOMIC_RELAXED));
	fact_record_add(&record, __atomic_exchange_n(&stack->temporary, 0, __ATOMIC_RELAXED));
	// A record that finds no room is counted as one loss already.
	if (!fact_record_write(thread, &record) && calls > 1)
		fact_record_lost(thread, calls - 1);
}

void cull_stacks_write(struct cull_stacks *stacks, uint32_t head, struct thread *thread,
		       uint8_t *scratch)
{
	struct cull_stack *stack = __atomic_load_n(&stacks->heads[head], __ATOMIC_ACQUIRE);

	for (; stack; stack = stack->next)
		if (__atomic_load_n(&stack->calls, __ATOMIC_RELAXED) ||
		    __atomic_load_n(&stack->temporary, __ATOMIC_RELAXED))
			write_sums(stacks, stack, thread, scratch);
}

uint64_t cull_stacks_drop(struct cull_stacks *stacks, uint32_t head)
{
	struct cull_stack *stack = __atomic_load_n(&stacks->heads[head], __ATOMIC_ACQUIRE);
	uint64_t calls = 0;

	for (; stack; stack = stack->next)
		calls += __atomic_exchange_n(&stack->calls, 0, __ATOMIC_RELAXED);
	return calls;
}

#define ADDRESS_UNIT_BITS 3
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
	if (address >> ARCH_ADDRESS_BITS)
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
