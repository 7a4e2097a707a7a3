/* Reading what is outstanding out of the kernel's tables. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "ebpf/tracer_data.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "hosted/now.h"
// Made by bpftool out of bpf/memleak.bpf.c; it names types of bpf_shared.h.
#include <memleak.skel.h>

/* How many entries of a table one system call reads. */
#define BATCH 65536

void outstanding_deinit(struct outstanding *outstanding)
{
	vec_deinit(&outstanding->stacks);
	vec_deinit(&outstanding->blocks);
}

/* A reading in progress. */
struct reading {
	const struct tracer *tracer;
	struct outstanding *result;
	struct map by_number; /* of a stack: its index in result->stacks */
	uint64_t until_ns;    /* younger blocks are left out */
	bool list_blocks;
};

static void reading_deinit(struct reading *reading)
{
	map_deinit(&reading->by_number);
}

struct outstanding_stack tracer_stack(const struct tracer *tracer, uint32_t number)
{
	struct outstanding_stack stack = {.number = number};

	if (number != STACK_NONE && number < tracer->stack_words - STACK_HEAD_WORDS) {
		const uint64_t *words = tracer->stacks.address;
		const struct stack_head *head = (const void *)(words + number);

		stack.frame_count = head->frames <= STACK_FRAMES_MAX ? head->frames : 0;
		stack.end = head->end;
		stack.frames = words + number + STACK_HEAD_WORDS;
	}
	return stack;
}

/* The stack of that number in the result, added if it is new. NULL: no memory. */
static struct outstanding_stack *stack_of(struct reading *reading, uint32_t number)
{
	struct outstanding *result = reading->result;
	uint64_t *index = map_put(&reading->by_number, number);

	if (!index)
		return NULL;
	if (*index != MAP_NONE)
		return &result->stacks.items[*index];

	struct outstanding_stack stack = tracer_stack(reading->tracer, number);

	*index = result->stacks.count;
	if (!vec_push(&result->stacks, stack)) {
		map_remove(&reading->by_number, number);
		return NULL;
	}
	return &result->stacks.items[result->stacks.count - 1];
}

/* weight: how many blocks it stands for. */
static struct err *add_block(struct reading *reading, const struct outstanding_block *block,
			     uint64_t weight)
{
	struct outstanding *result = reading->result;
	struct outstanding_stack *stack;

	if (block->time_ns > reading->until_ns) {
		result->young += weight;
		return NULL;
	}
	stack = stack_of(reading, block->stack);
	if (!stack)
		return err_no_memory();
	stack->bytes += block->size * weight;
	stack->blocks += weight;
	if (reading->list_blocks && !vec_push(&result->blocks, *block))
		return err_no_memory();
	return NULL;
}

/* One call's worth of a table. */
struct batch {
	int map;
	void *keys, *values;
	uint32_t count;
	uint64_t at; /* the kernel's position */
	bool begun, over;
};

static void batch_deinit(struct batch *batch)
{
	free(batch->keys);
	free(batch->values);
}

static struct err *batch_init(struct batch *batch, int map, size_t key, size_t value)
{
	*batch = (struct batch){.map = map};
	batch->keys = calloc(BATCH, key);
	batch->values = calloc(BATCH, value);
	return batch->keys && batch->values ? NULL : err_no_memory();
}

/* Reads on. A table that changes meanwhile is read bucket by bucket: nothing is skipped or twice.
 */
static struct err *batch_next(struct batch *batch)
{
	const struct bpf_map_batch_opts options = {.sz = sizeof(options)};
	int status;

	batch->count = BATCH;
	status = bpf_map_lookup_batch(batch->map, batch->begun ? &batch->at : NULL, &batch->at,
				      batch->keys, batch->values, &batch->count, &options);
	batch->begun = true;
	if (status < 0 && errno != ENOENT)
		return err_create_errno(errno, "reading the table of live blocks");
	batch->over = status < 0;
	return NULL;
}

static struct err *read_blocks(struct reading *reading)
{
	cleanup(batch_deinit) struct batch batch = {0};
	struct err *err = batch_init(&batch, bpf_map__fd(reading->tracer->bpf->maps.blocks),
				     sizeof(uint64_t), sizeof(struct block));

	while (!err && !batch.over) {
		err = batch_next(&batch);
		for (uint32_t i = 0; !err && i < batch.count; i++) {
			const struct block *block = (const struct block *)batch.values + i;

			err = add_block(reading,
					&(struct outstanding_block){
						.address = ((const uint64_t *)batch.keys)[i],
						.size = block->size,
						.time_ns = block->time_ns,
						.stack = block->stack,
						.tid = block->tid},
					reading->tracer->options.sample_rate);
		}
	}
	return err;
}

static struct err *add_sum(struct reading *reading, uint32_t number)
{
	const uint64_t *words = reading->tracer->stacks.address;
	const struct stack_head *head = (const void *)(words + number);
	uint64_t weight = reading->tracer->options.sample_rate;
	struct outstanding_stack *stack;

	if (!__atomic_load_n(&head->blocks, __ATOMIC_RELAXED))
		return NULL;
	stack = stack_of(reading, number);
	if (!stack)
		return err_no_memory();
	stack->bytes = head->bytes * weight;
	stack->blocks = head->blocks * weight;
	return NULL;
}

/* With options->combined. */
static struct err *read_sums(struct reading *reading)
{
	cleanup(batch_deinit) struct batch batch = {0};
	struct err *err = batch_init(&batch, bpf_map__fd(reading->tracer->bpf->maps.stack_ids),
				     sizeof(uint64_t), sizeof(uint32_t));

	// Blocks whose stack is lost are summed at number 0.
	if (!err)
		err = add_sum(reading, STACK_NONE);
	while (!err && !batch.over) {
		err = batch_next(&batch);
		for (uint32_t i = 0; !err && i < batch.count; i++)
			err = add_sum(reading, ((const uint32_t *)batch.values)[i]);
	}
	return err;
}

static struct err *read_mapped(struct reading *reading)
{
	const struct mapped_ranges *mapped = &reading->tracer->mapped;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < mapped->list.count; i++) {
		const struct mapped_range *range = &mapped->list.items[i];

		err = add_block(reading,
				&(struct outstanding_block){.address = range->start,
							    .size = range->size,
							    .time_ns = range->time_ns,
							    .stack = range->stack,
							    .tid = range->tid},
				1);
	}
	return err;
}

static int by_bytes(const void *left, const void *right)
{
	const struct outstanding_stack *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static int by_blocks(const void *left, const void *right)
{
	const struct outstanding_stack *a = left, *b = right;

	return a->blocks != b->blocks ? (a->blocks > b->blocks ? -1 : 1) : by_bytes(left, right);
}

static int by_size(const void *left, const void *right)
{
	const struct outstanding_block *a = left, *b = right;

	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

static void sort(struct outstanding *result, bool by_count)
{
	if (result->stacks.count)
		qsort(result->stacks.items, result->stacks.count, sizeof(*result->stacks.items),
		      by_count ? by_blocks : by_bytes);
	if (result->blocks.count)
		qsort(result->blocks.items, result->blocks.count, sizeof(*result->blocks.items),
		      by_size);
	for (size_t i = 0; i < result->stacks.count; i++) {
		result->bytes += result->stacks.items[i].bytes;
		result->block_count += result->stacks.items[i].blocks;
	}
}

struct err *tracer_read(struct tracer *tracer, uint64_t older_ns, bool list_blocks, bool by_count,
			struct outstanding *ret)
{
	uint64_t now = now_ns();
	cleanup(reading_deinit) struct reading reading = {
		.tracer = tracer,
		.result = ret,
		.until_ns = now > older_ns ? now - older_ns : 0,
		.list_blocks = list_blocks,
	};
	struct err *err = tracer_poll(tracer);

	if (tracer->options.combined || !older_ns)
		reading.until_ns = UINT64_MAX;
	if (!err)
		err = tracer->options.combined ? read_sums(&reading) : read_blocks(&reading);
	if (!err)
		err = read_mapped(&reading);
	if (err) {
		outstanding_deinit(ret);
		*ret = (struct outstanding){0};
		return err;
	}
	sort(ret, by_count);
	return NULL;
}
