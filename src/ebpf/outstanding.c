#include "ebpf/outstanding.h"

#include <stdlib.h>

#include "ebpf/bpf_map.h"
#include "hosted/now.h"

void outstanding_deinit(struct outstanding *outstanding)
{
	vec_deinit(&outstanding->stacks);
	vec_deinit(&outstanding->blocks);
}

void outstanding_index_deinit(struct outstanding_index *index)
{
	map_deinit(&index->by_number);
}

struct outstanding_stack outstanding_stack_read(const uint64_t *words, uint64_t word_count,
						uint32_t number)
{
	struct outstanding_stack stack = {.number = number};

	if (number != STACK_NONE && number < word_count - STACK_HEAD_WORDS) {
		const struct stack_head *head = (const void *)(words + number);

		stack.frame_count = head->frames <= STACK_FRAMES_MAX ? head->frames : 0;
		stack.end = head->end;
		stack.frames = words + number + STACK_HEAD_WORDS;
	}
	return stack;
}

struct outstanding_stack *outstanding_stack_of(struct outstanding_index *index,
					       struct outstanding *outstanding, uint32_t number)
{
	uint64_t *at = map_put(&index->by_number, number);

	if (!at)
		return NULL;
	if (*at != MAP_NONE)
		return &outstanding->stacks.items[*at];

	struct outstanding_stack stack =
		outstanding_stack_read(index->words, index->word_count, number);

	*at = outstanding->stacks.count;
	if (!vec_push(&outstanding->stacks, stack)) {
		map_remove(&index->by_number, number);
		return NULL;
	}
	return &outstanding->stacks.items[outstanding->stacks.count - 1];
}

static struct err *add_block(void *argument, const void *key, const void *value)
{
	const struct outstanding_reader *reader = argument;

	return reader->add_block(reader->argument, *(const uint64_t *)key, value);
}

static struct err *add_sum(void *argument, const void *key, const void *value)
{
	const struct outstanding_reader *reader = argument;
	uint32_t number = *(const uint32_t *)value;
	const struct stack_head *sums = (const void *)(reader->words + number);

	if (!__atomic_load_n(&sums->blocks, __ATOMIC_RELAXED))
		return NULL;
	return reader->add_sum(reader->argument, number, sums);
}

struct err *outstanding_read(const struct outstanding_reader *reader, bool combined)
{
	static const uint32_t lost = STACK_NONE; // blocks whose stack is lost are summed there
	struct err *err;

	if (!combined)
		return bpf_map_each(reader->blocks, sizeof(uint64_t), sizeof(struct block),
				    add_block, (void *)reader);
	err = add_sum((void *)reader, NULL, &lost);
	return err ? err
		   : bpf_map_each(reader->stack_ids, sizeof(uint64_t), sizeof(uint32_t), add_sum,
				  (void *)reader);
}

uint64_t outstanding_until(uint64_t older_ns)
{
	uint64_t now = now_ns();

	return !older_ns ? UINT64_MAX : now > older_ns ? now - older_ns : 0;
}

static int by_bytes(const void *left, const void *right)
{
	const struct outstanding_stack *a = left, *b = right;

	if (a->doubted != b->doubted)
		return a->doubted ? 1 : -1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static int by_blocks(const void *left, const void *right)
{
	const struct outstanding_stack *a = left, *b = right;

	if (a->doubted != b->doubted)
		return by_bytes(left, right);
	return a->blocks != b->blocks ? (a->blocks > b->blocks ? -1 : 1) : by_bytes(left, right);
}

static int by_size(const void *left, const void *right)
{
	const struct outstanding_block *a = left, *b = right;

	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

void outstanding_sort(struct outstanding *outstanding, bool by_count)
{
	if (outstanding->stacks.count)
		qsort(outstanding->stacks.items, outstanding->stacks.count,
		      sizeof(*outstanding->stacks.items), by_count ? by_blocks : by_bytes);
	if (outstanding->blocks.count)
		qsort(outstanding->blocks.items, outstanding->blocks.count,
		      sizeof(*outstanding->blocks.items), by_size);
	for (size_t i = 0; i < outstanding->stacks.count; i++) {
		outstanding->bytes += outstanding->stacks.items[i].bytes;
		outstanding->block_count += outstanding->stacks.items[i].blocks;
	}
}
