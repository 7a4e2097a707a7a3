#include "report/export/flamegraph_change.h"

#include <stdlib.h>

#define ORANGE 28, 92
#define BLUE   212, 75
#define GREY   "hsl(0,0%,82%)"

/* A change is one child's if that has so many percent of it: colour stands where a change arises.
 */
#define INHERITED_PERCENT 95

void flamegraph_change_deinit(struct flamegraph_change *change)
{
	free(change->inherited);
	*change = (struct flamegraph_change){0};
}

int64_t flamegraph_change_of(const struct flamegraph_change *change, uint32_t node)
{
	return (int64_t)(change->sides->sums[DIFF_AFTER][node] -
			 change->sides->sums[DIFF_BEFORE][node]);
}

struct err *flamegraph_change_init(struct flamegraph_change *change, const struct diff_tree *sides)
{
	const struct tree *tree = sides->tree;

	change->sides = sides;
	change->inherited = calloc(tree->count + 1u, sizeof(*change->inherited));
	if (!change->inherited)
		return err_no_memory();
	for (uint32_t i = 1; i < tree->count; i++) {
		uint32_t parent = tree->nodes[i].parent;
		int64_t own = flamegraph_change_of(change, i);
		uint64_t size = (uint64_t)llabs(own);

		if ((own > 0) == (flamegraph_change_of(change, parent) > 0) &&
		    size > change->inherited[parent])
			change->inherited[parent] = size;
	}
	return NULL;
}

static void put_hue(struct buf *buf, int hue, int saturation, int lightness)
{
	buf_printf(buf, "hsl(%d,%d%%,%d%%)", hue, saturation, lightness);
}

void flamegraph_change_colour(struct buf *buf, const struct flamegraph_change *change,
			      uint32_t node)
{
	uint64_t before = change->sides->sums[DIFF_BEFORE][0];
	uint64_t after = change->sides->sums[DIFF_AFTER][0];
	double whole = (double)(before > after ? before : after);
	int64_t own = flamegraph_change_of(change, node);
	double size = (double)llabs(own);
	int lightness = size * 10 >= whole ? 58 : size * 100 >= whole ? 71 : 84;

	if (!own || size * 1000 < whole ||
	    (double)change->inherited[node] * 100 >= size * INHERITED_PERCENT)
		buf_text(buf, GREY);
	else if (own > 0)
		put_hue(buf, ORANGE, lightness);
	else
		put_hue(buf, BLUE, lightness);
}

const char *flamegraph_change_class(const struct flamegraph_change *change, uint32_t node)
{
	return !change->sides->sums[DIFF_BEFORE][node]  ? " new"
	       : !change->sides->sums[DIFF_AFTER][node] ? " gone"
							: "";
}
