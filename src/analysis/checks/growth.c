#include "analysis/checks/growth.h"

#include "analysis/findings/shape.h"
#include "analysis/sites/sample_weight.h"

/* The part of the run in which that moment is. FACTS_POINTS: it is behind the end. */
static unsigned int part_of(const uint64_t *ends, uint64_t ns, unsigned int from)
{
	while (from < FACTS_POINTS && ns > ends[from])
		from++;
	return from;
}

static bool matches(const struct check_matching *matching, const struct site *sites, uint64_t block)
{
	const struct filter_match *match = matching->match;
	uint32_t site = recording_blocks(matching->recording)->site[block];

	return match->words[block / 64] >> block % 64 & 1 &&
	       (!matching->suppressed || !matching->suppressed[(uint32_t)(sites[site].stack + 1)]);
}

/* Adds a block that was allocated in a part. late_ns: the last moments begin behind this. */
static void add(struct shape_input *input, const struct block_columns *blocks, uint64_t block,
		const uint64_t *ends, unsigned int part, uint64_t weight, uint64_t late_ns)
{
	uint64_t bytes = blocks->size[block] * weight, freed = blocks->freed_ns[block];
	unsigned int last = part_of(ends, freed, part);

	for (unsigned int i = part; i < last; i++)
		input->live[i] += bytes;
	if (freed != TIME_NEVER)
		return;
	input->kept[part] += bytes;
	input->kept_blocks += weight;
	if (blocks->allocated_ns[block] > late_ns)
		input->late_bytes += bytes;
}

uint64_t growth_of_matching(const struct check_matching *matching, uint64_t *bytes)
{
	const struct recording_facts *facts = recording_facts(matching->recording);
	const struct block_columns *blocks = recording_blocks(matching->recording);
	uint64_t late_ns = facts->duration_ns - facts->duration_ns / FACTS_LATE;
	struct shape_input input = {.kept_blocks = 0};
	uint64_t ends[FACTS_POINTS];
	struct shape_result shape;
	unsigned int part = 0;
	uint32_t count;
	const struct site *sites = recording_sites(matching->recording, &count);

	for (unsigned int i = 0; i < FACTS_POINTS; i++)
		ends[i] = facts_point_ns(facts->duration_ns, i);
	for (uint64_t i = 0; i < blocks->count; i++) {
		uint64_t weight = 1;

		part = part_of(ends, blocks->allocated_ns[i], part);
		if (part == FACTS_POINTS)
			part--;
		if (!matches(matching, sites, i))
			continue;
		if (facts->sample_mean)
			weight = sample_weight(facts->sample_mean, blocks->size[i], i + 1);
		add(&input, blocks, i, ends, part, weight, late_ns);
	}
	*bytes = 0;
	for (unsigned int i = 0; i < FACTS_POINTS; i++)
		*bytes += input.kept[i];
	shape = shape_judge_run(&input, facts->duration_ns);
	return shape_rate(&shape, *bytes, facts->duration_ns);
}
