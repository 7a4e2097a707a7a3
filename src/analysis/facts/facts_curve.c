#include "analysis/facts/facts_curve.h"

#include <stdlib.h>
#include <string.h>

struct err *facts_curve_create(struct facts_curve **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : err_no_memory();
}

void facts_curve_destroy(struct facts_curve *curve)
{
	for (uint32_t i = 0; curve && i < FACTS_CELLS; i++)
		free(curve->pairs[i]);
	free(curve);
}

void facts_curve_pair(struct facts_curve *curve, uint32_t begin, uint32_t end, uint64_t bytes,
		      uint64_t blocks)
{
	struct curve_pair **pairs = &curve->pairs[begin];

	if (!*pairs)
		*pairs = calloc(FACTS_CELLS - begin, sizeof(**pairs));
	curve->failed |= !*pairs;
	if (!*pairs)
		return;
	(*pairs)[end - begin].bytes += bytes;
	(*pairs)[end - begin].blocks += blocks;
}

static void join_pairs(struct facts_curve *curve, uint32_t used)
{
	for (uint32_t begin = 0; begin < used; begin++) {
		struct curve_pair *pairs = curve->pairs[begin];

		curve->pairs[begin] = NULL;
		// Rows are taken before one with their numbers is made: begin / 2 <= begin.
		for (uint32_t i = 0; pairs && begin + i < used; i++)
			if (pairs[i].blocks)
				facts_curve_pair(curve, begin / 2, (begin + i) / 2, pairs[i].bytes,
						 pairs[i].blocks);
		free(pairs);
	}
}

void facts_curve_join(struct facts_curve *curve, uint32_t used)
{
	join_pairs(curve, used);
	for (uint32_t i = 0; i < used; i++) {
		struct curve_flow soon = curve->soon[i];
		uint64_t most = curve->most[i], slack = curve->slack_at[i];

		curve->soon[i] = (struct curve_flow){0};
		curve->most[i] = curve->slack_at[i] = 0;
		curve_flow_add(&curve->soon[i / 2], &soon);
		if (most > curve->most[i / 2])
			curve->most[i / 2] = most;
		curve->slack_at[i / 2] = slack;
	}
}

void facts_curve_finish(struct facts_curve *curve, uint32_t used, double late)
{
	curve->cells = used;
	for (uint32_t begin = 0; begin < used; begin++) {
		const struct curve_pair *pairs = curve->pairs[begin];

		for (uint32_t i = 0; pairs && begin + i < used; i++) {
			struct curve_flow *flows = i >= late ? curve->late : curve->soon;

			curve_flow_begin(&flows[begin], pairs[i].bytes, pairs[i].blocks);
			curve_flow_end(&flows[begin + i], pairs[i].bytes, pairs[i].blocks);
		}
	}
}
