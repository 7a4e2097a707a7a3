#include "analysis/findings/shape_sums.h"

#include <stdlib.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/sites/sample_weight.h"
#include "hosted/cleanup.h"

void shape_walk_begin(const struct recording *recording, struct shape_walk *ret)
{
	const struct recording_facts *facts = recording_facts(recording);

	*ret = (struct shape_walk){
		.blocks = recording_blocks(recording),
		.sample_mean = facts->sample_mean,
		.late_ns = facts->duration_ns - facts->duration_ns / FACTS_LATE,
	};
	facts_equal_ends(facts->duration_ns, ret->ends);
}

/* The part of the run in which that moment is. FACTS_POINTS: it is behind the end. */
static unsigned int part_of(const uint64_t *ends, uint64_t ns, unsigned int from)
{
	while (from < FACTS_POINTS && ns > ends[from])
		from++;
	return from;
}

void shape_walk_add(struct shape_walk *walk, uint64_t block, struct shape_input *input)
{
	const struct block_columns *blocks = walk->blocks;
	uint64_t bytes = blocks->size[block], weight = 1;
	uint64_t freed = blocks->freed_ns[block];
	unsigned int last;

	walk->part = part_of(walk->ends, blocks->allocated_ns[block], walk->part);
	if (walk->part == FACTS_POINTS)
		walk->part--;
	if (walk->sample_mean)
		weight = sample_weight(walk->sample_mean, bytes, block + 1);
	bytes *= weight;
	last = part_of(walk->ends, freed, walk->part);
	for (unsigned int i = walk->part; i < last; i++)
		input->live[i] += bytes;
	if (freed != TIME_NEVER)
		return;
	input->kept[walk->part] += bytes;
	input->kept_blocks += weight;
	if (blocks->allocated_ns[block] > walk->late_ns)
		input->late_bytes += bytes;
}

struct err *shape_sums_create(const struct recording *recording, const uint64_t *bits,
			      const struct block_groups *groups, const uint32_t *numbers,
			      uint32_t count, struct shape_input **ret)
{
	auto_free struct shape_input *inputs = calloc((size_t)count + 1, sizeof(*inputs));
	auto_free uint32_t *input_of = malloc(((size_t)groups->count + 1) * sizeof(*input_of));
	struct shape_walk walk;

	if (!inputs || !input_of)
		return err_no_memory();
	for (uint32_t i = 0; i < groups->count; i++)
		input_of[i] = count;
	for (uint32_t i = 0; i < count; i++)
		input_of[numbers[i]] = i;
	shape_walk_begin(recording, &walk);
	BLOCK_BITS_EACH(bits, walk.blocks->count, i)
	{
		uint32_t input = input_of[block_groups_of(groups, walk.blocks, i)];

		if (input < count)
			shape_walk_add(&walk, i, &inputs[input]);
	}
	*ret = steal(&inputs);
	return NULL;
}
