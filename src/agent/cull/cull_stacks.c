#include "agent/cull/cull_stacks.h"

#include "agent/ground/clock.h"
#include "agent/ground/own_pages.h"
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
