/* Reading what is outstanding out of the kernel's tables. */
#include "ebpf/tracer_data.h"
#include "hosted/cleanup.h"
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

static struct err *add_sampled(void *argument, uint64_t address, const struct block *block)
{
	struct reading *reading = argument;

	return add_block(reading,
			 &(struct outstanding_block){.address = address,
						     .size = block->size,
						     .time_ns = block->time_ns,
						     .stack = block->stack,
						     .tid = block->tid},
			 reading->tracer->options.sample_rate);
}

static struct err *add_sum(void *argument, uint32_t number, const struct stack_head *sums)
{
	struct reading *reading = argument;
	uint64_t weight = reading->tracer->options.sample_rate;
	struct outstanding_stack *stack =
		outstanding_stack_of(&reading->index, reading->result, number);

	if (!stack)
		return err_no_memory();
	stack->bytes = sums->bytes * weight;
	stack->blocks = sums->blocks * weight;
	return NULL;
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
	bool combined = tracer->options.combined;
	cleanup(reading_deinit) struct reading reading = {
		.tracer = tracer,
		.result = ret,
		.until_ns = outstanding_until(combined ? 0 : older_ns),
		.index = {.words = tracer->stacks.address, .word_count = tracer->stack_words},
		.list_blocks = list_blocks,
	};
	const struct outstanding_reader reader = {
		.blocks = bpf_map__fd(tracer->bpf->maps.blocks),
		.stack_ids = bpf_map__fd(tracer->bpf->maps.stack_ids),
		.words = tracer->stacks.address,
		.add_block = add_sampled,
		.add_sum = add_sum,
		.argument = &reading,
	};
	struct err *err = tracer_poll(tracer);

	if (!err)
		err = outstanding_read(&reader, combined);
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
