/* Reading what is outstanding out of the kernel's tables. */
#include "ebpf/bpf_map.h"
#include "ebpf/tracer_data.h"
#include "hosted/cleanup.h"
#include "hosted/now.h"
// Made by bpftool out of bpf/memleak.bpf.c; it names types of bpf_shared.h.
#include <memleak.skel.h>

/* A reading in progress. */
struct reading {
	const struct tracer *tracer;
	struct outstanding *result;
	struct outstanding_index index;
	uint64_t until_ns; /* younger blocks are left out */
	bool list_blocks;
};

static void reading_deinit(struct reading *reading)
{
	outstanding_index_deinit(&reading->index);
}

struct outstanding_stack tracer_stack(const struct tracer *tracer, uint32_t number)
{
	return outstanding_stack_read(tracer->stacks.address, tracer->stack_words, number);
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
	stack = outstanding_stack_of(&reading->index, result, block->stack);
	if (!stack)
		return err_no_memory();
	stack->bytes += block->size * weight;
	stack->blocks += weight;
	if (reading->list_blocks && !vec_push(&result->blocks, *block))
		return err_no_memory();
	return NULL;
}

static struct err *read_blocks(struct reading *reading)
{
	cleanup(map_batch_deinit) struct map_batch batch = {0};
	struct err *err = map_batch_init(&batch, bpf_map__fd(reading->tracer->bpf->maps.blocks),
					 sizeof(uint64_t), sizeof(struct block));

	while (!err && !batch.over) {
		err = map_batch_next(&batch);
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
	stack = outstanding_stack_of(&reading->index, reading->result, number);
	if (!stack)
		return err_no_memory();
	stack->bytes = head->bytes * weight;
	stack->blocks = head->blocks * weight;
	return NULL;
}

/* With options->combined. */
static struct err *read_sums(struct reading *reading)
{
	cleanup(map_batch_deinit) struct map_batch batch = {0};
	struct err *err = map_batch_init(&batch, bpf_map__fd(reading->tracer->bpf->maps.stack_ids),
					 sizeof(uint64_t), sizeof(uint32_t));

	// Blocks whose stack is lost are summed at number 0.
	if (!err)
		err = add_sum(reading, STACK_NONE);
	while (!err && !batch.over) {
		err = map_batch_next(&batch);
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

struct err *tracer_read(struct tracer *tracer, uint64_t older_ns, bool list_blocks, bool by_count,
			struct outstanding *ret)
{
	uint64_t now = now_ns();
	cleanup(reading_deinit) struct reading reading = {
		.tracer = tracer,
		.result = ret,
		.until_ns = now > older_ns ? now - older_ns : 0,
		.index = {.words = tracer->stacks.address, .word_count = tracer->stack_words},
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
	outstanding_sort(ret, by_count);
	return NULL;
}
