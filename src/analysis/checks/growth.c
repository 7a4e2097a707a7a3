#include "analysis/checks/growth.h"

#include "analysis/findings/shape_sums.h"

static bool matches(const struct check_matching *matching, const struct site *sites, uint64_t block)
{
	const struct filter_match *match = matching->match;
	uint32_t site = recording_blocks(matching->recording)->site[block];

	return match->words[block / 64] >> block % 64 & 1 &&
	       (!matching->suppressed || !matching->suppressed[(uint32_t)(sites[site].stack + 1)]);
}

uint64_t growth_of_matching(const struct check_matching *matching, uint64_t *bytes)
{
	uint64_t duration_ns = recording_facts(matching->recording)->duration_ns;
	struct shape_input input = {.kept_blocks = 0};
	struct shape_result shape;
	struct shape_walk walk;
	uint32_t count;
	const struct site *sites = recording_sites(matching->recording, &count);

	shape_walk_begin(matching->recording, &walk);
	for (uint64_t i = 0; i < walk.blocks->count; i++)
		if (matches(matching, sites, i))
			shape_walk_add(&walk, i, &input);
	*bytes = 0;
	for (unsigned int i = 0; i < FACTS_POINTS; i++)
		*bytes += input.kept[i];
	shape = shape_judge_run(&input, duration_ns);
	return shape_rate(&shape, *bytes, duration_ns);
}
