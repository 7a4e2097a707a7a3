#include "analysis/diff/diff_tree.h"

#include <stdlib.h>

#include "analysis/index/index_read.h"
#include "hosted/cleanup.h"

void diff_tree_deinit(struct diff_tree *tree)
{
	tree_destroy(tree->tree);
	for (int side = 0; side < DIFF_SIDES; side++)
		free(tree->sums[side]);
	*tree = (struct diff_tree){0};
}

/* What is left of `from` without `less`; a sum that would be negative is 0. */
static struct site subtracted(struct site from, const struct site *less)
{
#define SUBTRACT(field) from.field -= from.field < less->field ? from.field : less->field;
	INDEX_SITE_COLUMNS(SUBTRACT)
#undef SUBTRACT
	return from;
}

/* What the tree shows of a site; it leaves out those that have none of the metric. */
static struct site shown(enum diff_show show, enum metric metric, const struct site *before,
			 const struct site *after)
{
	uint64_t then = metric_of_site(metric, before), now = metric_of_site(metric, after);

	if (show == DIFF_SHOW_LARGER)
		return now >= then ? *after : *before;
	if (show == DIFF_SHOW_GREW ? now > then : now < then)
		return show == DIFF_SHOW_GREW ? subtracted(*after, before)
					      : subtracted(*before, after);
	return (struct site){.stack = after->stack};
}

/* Adds up what both sides have, from the leaves to the root. */
static void add_up(struct diff_tree *tree, enum metric metric,
		   const struct site *const sites[DIFF_SIDES], uint32_t count)
{
	const struct tree_node *nodes = tree->tree->nodes;

	for (int side = 0; side < DIFF_SIDES; side++) {
		uint64_t *sums = tree->sums[side];

		for (uint32_t i = 0; i < count; i++)
			if (tree->tree->leaves[i] != RECORDING_NONE)
				sums[tree->tree->leaves[i]] +=
					metric_of_site(metric, &sites[side][i]);
		for (uint32_t i = tree->tree->count; i-- > 1;)
			sums[nodes[i].parent] += sums[i];
	}
}

struct err *diff_tree_create(const struct diff *diff, enum metric metric, enum tree_fold fold,
			     enum diff_show show, struct diff_tree *ret)
{
	uint32_t count;
	const struct site *const sites[DIFF_SIDES] = {
		recording_sites(diff->sides[DIFF_BEFORE], &count),
		recording_sites(diff->sides[DIFF_AFTER], &count),
	};
	auto_free struct site *chosen = malloc((count + 1u) * sizeof(*chosen));
	struct err *err;

	if (!chosen)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		chosen[i] = shown(show, metric, &sites[DIFF_BEFORE][i], &sites[DIFF_AFTER][i]);
	err = tree_create_of_sites(diff->sides[DIFF_AFTER], diff->symbolized, chosen, count, metric,
				   fold, &ret->tree);
	for (int side = 0; !err && side < DIFF_SIDES; side++) {
		ret->sums[side] = calloc(ret->tree->count + 1u, sizeof(uint64_t));
		if (!ret->sums[side])
			err = err_no_memory();
	}
	if (err)
		diff_tree_deinit(ret);
	else
		add_up(ret, metric, sites, count);
	return err;
}
