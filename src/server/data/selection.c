#include "server/data/selection.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "server/data/recent.h"

void selection_release(struct selection *selection)
{
	if (!selection || __atomic_sub_fetch(&selection->references, 1, __ATOMIC_ACQ_REL))
		return;
	filter_match_deinit(&selection->match);
	for (size_t i = 0; i < SELECTION_ORDERS; i++) {
		block_pages_deinit(&selection->pages[i]);
		block_top_deinit(&selection->tops[i][false]);
		block_top_deinit(&selection->tops[i][true]);
	}
	free(selection->sums);
	free(selection->key);
	free(selection);
}
/*
 * Finds the blocks. Of two recordings on common stacks each has its blocks by what it was recorded
 * with: a common stack has the names of only one of them.
 */
static struct err *match_blocks(struct dataset *dataset, const struct filter *filter,
				struct filter_match *ret)
{
	struct dataset *recorded = dataset->as_recorded;
	struct err *err;

	if (!recorded)
		return filter_match(filter, dataset->recording, dataset->symbolized, ret);
	dataset_lock(recorded);
	err = filter_match(filter, recorded->recording, recorded->symbolized, ret);
	dataset_unlock(recorded);
	return err;
}

static struct err *create_selection(struct dataset *dataset, const struct filter *filter,
				    const char *key, struct selection **ret)
{
	cleanup(selection_release_at) struct selection *selection = calloc(1, sizeof(*selection));
	struct err *err = NULL;

	if (!selection)
		return err_no_memory();
	selection->references = 1;
	selection->key = strdup(key);
	selection->count = dataset->blocks->count;
	if (!selection->key)
		return err_no_memory();
	if (!filter_is_empty(filter)) {
		err = match_blocks(dataset, filter, &selection->match);
		selection->bits = selection->match.words;
		selection->count = selection->match.count;
	}
	if (!err)
		*ret = steal(&selection);
	return err;
}

struct err *selection_find(struct dataset *dataset, const struct filter *filter, const char *key,
			   struct selection **ret)
{
	struct selection *selection = NULL;
	struct err *err;
	size_t i;

	for (i = 0; i < DATASET_SELECTIONS; i++) {
		selection = dataset->selections[i];
		if (selection && strcmp(selection->key, key) == 0)
			break;
	}
	if (i == DATASET_SELECTIONS) {
		err = create_selection(dataset, filter, key, &selection);
		if (err)
			return err;
		selection_release(dataset->selections[--i]);
		dataset->selections[i] = selection;
	}
	recent_use(dataset->selections, i);
	__atomic_add_fetch(&selection->references, 1, __ATOMIC_RELAXED);
	*ret = selection;
	return NULL;
}

/*
 * How many rows are picked out at once, for the next pages too; and how often, before all blocks
 * are sorted.
 */
#define TOP_ROWS 4096
#define TOPS_MAX 8

/* Not of SELECTION_BY_TIME, which is the order of the blocks. */
static enum block_order block_order(enum selection_order order)
{
	static const enum block_order orders[SELECTION_ORDERS] = {
		[SELECTION_BY_ADDRESS] = BLOCK_ORDER_ADDRESS,
		[SELECTION_BY_SIZE] = BLOCK_ORDER_SIZE,
		[SELECTION_BY_LIFETIME] = BLOCK_ORDER_LIFETIME,
		[SELECTION_BY_SLACK] = BLOCK_ORDER_SLACK,
	};

	return orders[order];
}

struct err *selection_top(struct dataset *dataset, struct selection *selection,
			  enum selection_order order, bool descending, uint64_t first, uint64_t end,
			  const uint32_t **ret)
{
	struct block_top *top = &selection->tops[order][descending];
	struct block_sort_keys entries = {
		.bits = selection->bits,
		.blocks = dataset->blocks->count,
		.descending = descending,
	};
	struct err *err = NULL;

	*ret = NULL;
	if (order == SELECTION_BY_TIME || first == end || end - first > TOP_ROWS ||
	    recording_has_block_order(dataset->recording, block_order(order)))
		return NULL;
	if (!top->rows || first < top->first || end > top->first + top->count) {
		if (selection->tops_made++ >= TOPS_MAX)
			return NULL;
		block_top_deinit(top);
		err = recording_block_keys(dataset->recording, block_order(order), &entries.keys);
		if (!err)
			err = block_top_create(&entries, first, TOP_ROWS, top);
	}
	if (!err)
		*ret = top->rows + (first - top->first);
	return err;
}

struct err *selection_ranks(struct dataset *dataset, struct selection *selection,
			    enum selection_order order, const struct block_pages **ret)
{
	struct block_pages *pages = &selection->pages[order];
	const uint32_t *rows = NULL;
	struct err *err = NULL;

	if (!pages->blocks && order != SELECTION_BY_TIME)
		err = recording_block_order(dataset->recording, block_order(order), &rows);
	if (!err && !pages->blocks)
		err = block_pages_create(selection->bits, rows, dataset->blocks->count, pages);
	*ret = pages;
	return err;
}

struct err *selection_sums(struct dataset *dataset, struct selection *selection,
			   const struct site_sums **ret)
{
	struct err *err = NULL;

	if (!selection->bits)
		return dataset_sums(dataset, ret);
	if (!selection->sums)
		err = site_sums_create(dataset->recording, selection->bits, &selection->sums);
	*ret = selection->sums;
	return err;
}
