#include "report/export/stack_sums.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"

void stack_sums_deinit(struct stack_sums *sums)
{
	tree_destroy(sums->tree);
	free(sums->own);
	free(sums->frame_of_number);
	vec_deinit(&sums->frames);
}

/* The frames of the nodes. A line that differs, or a file, is none. */
static struct err *find_frames(struct stack_sums *sums)
{
	const struct tree *tree = sums->tree;

	sums->frame_of_number = malloc(((size_t)tree->labels + 1) * sizeof(uint32_t));
	if (!sums->frame_of_number)
		return err_no_memory();
	memset(sums->frame_of_number, 0xff, ((size_t)tree->labels + 1) * sizeof(uint32_t));
	for (uint32_t i = 1; i < tree->count; i++) {
		const struct tree_node *node = &tree->nodes[i];
		uint32_t *index = &sums->frame_of_number[node->number];
		struct stack_frame frame = {node->label, node->frame, node->frame->line};

		if (*index == RECORDING_NONE) {
			*index = (uint32_t)sums->frames.count;
			if (!vec_push(&sums->frames, frame))
				return err_no_memory();
		}
		if (node->several_lines || sums->frames.items[*index].line != frame.line)
			sums->frames.items[*index].line = 0;
	}
	return NULL;
}

static bool is_empty(const struct site *site)
{
	return !site->calls && !site->total_bytes && !site->peak_bytes && !site->peak_blocks &&
	       !site->leaked_bytes && !site->leaked_blocks;
}

/* One tree for all metrics: each site that has a sum weighs something in it. */
static struct err *make_tree(const struct recording *recording, struct symbolized *symbolized,
			     const struct tree_shape *shape, struct stack_sums *sums)
{
	uint32_t count;
	const struct site *sites = recording_sites(recording, &count);
	auto_free struct site *weights = calloc((size_t)count + 1, sizeof(*weights));
	struct err *err;

	if (!weights)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		weights[i] = (struct site){.stack = sites[i].stack, .calls = !is_empty(&sites[i])};
	err = tree_create_shaped(recording, symbolized, weights, count, METRIC_CALLS, shape,
				 &sums->tree);
	if (err)
		return err;
	sums->own = calloc(sums->tree->count, sizeof(*sums->own));
	if (!sums->own)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		if (sums->tree->leaves[i] != RECORDING_NONE)
			metric_add_site(&sums->own[sums->tree->leaves[i]], &sites[i]);
	return NULL;
}

struct err *stack_sums_create(const struct recording *recording, struct symbolized *symbolized,
			      const struct tree_shape *shape, struct stack_sums *ret)
{
	cleanup(stack_sums_deinit) struct stack_sums sums = {0};
	struct err *err = make_tree(recording, symbolized, shape, &sums);

	if (!err)
		err = find_frames(&sums);
	if (err)
		return err;
	*ret = sums;
	sums = (struct stack_sums){0};
	return NULL;
}

struct err *stack_sums_values(const struct stack_sums *sums, enum metric metric, uint64_t **ret)
{
	const struct tree *tree = sums->tree;
	uint64_t *values = malloc(tree->count * sizeof(*values));

	if (!values)
		return err_no_memory();
	for (uint32_t i = 0; i < tree->count; i++)
		values[i] = metric_of_site(metric, &sums->own[i]);
	for (uint32_t i = tree->count; i-- > 1;)
		values[tree->nodes[i].parent] += values[i];
	*ret = values;
	return NULL;
}

static int compare_descending(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? 1 : -(left > right);
}

/* The least value that has a place, and for how many nodes with it there is one. */
static struct err *find_least(const uint64_t *values, uint32_t count, uint64_t most,
			      uint64_t *least, uint64_t *places, uint32_t *folded)
{
	auto_free uint64_t *sorted = malloc(((size_t)count + 1) * sizeof(*sorted));
	uint64_t wider = 0;
	uint32_t used = 0;

	if (!sorted)
		return err_no_memory();
	for (uint32_t i = 1; i < count; i++)
		if (values[i])
			sorted[used++] = values[i];
	*least = 1;
	*places = UINT64_MAX;
	*folded = used > most ? used - (uint32_t)most : 0;
	if (!*folded)
		return NULL;
	qsort(sorted, used, sizeof(*sorted), compare_descending);
	*least = sorted[most - 1];
	while (sorted[wider] > *least)
		wider++;
	*places = most - wider;
	return NULL;
}

struct err *stack_sums_cut(const struct stack_sums *sums, const uint64_t *values, uint64_t most,
			   uint32_t **ret, uint32_t *folded)
{
	const struct tree *tree = sums->tree;
	auto_free uint32_t *stand = malloc(tree->count * sizeof(*stand));
	uint64_t least, places;
	struct err *err;

	if (!stand)
		return err_no_memory();
	err = find_least(values, tree->count, most, &least, &places, folded);
	if (err)
		return err;
	// A caller comes before what it called, and is as wide: it never goes first.
	stand[0] = 0;
	for (uint32_t i = 1; i < tree->count; i++) {
		bool stays = values[i] > least || (values[i] == least && places && places--);

		stand[i] = stays ? i : stand[tree->nodes[i].parent];
	}
	*ret = steal(&stand);
	return NULL;
}

const char *stack_sums_folded_name(uint64_t nodes, char *text, size_t size)
{
	snprintf(text, size, "[all else, folded by --nodes %" PRIu64 "]", nodes);
	return text;
}
