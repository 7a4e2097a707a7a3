#include "server/selection.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"

void selection_release(struct selection *selection)
{
	if (!selection || __atomic_sub_fetch(&selection->references, 1, __ATOMIC_ACQ_REL))
		return;
	filter_match_deinit(&selection->match);
	for (size_t i = 0; i < SELECTION_ORDERS; i++) {
		block_ranks_deinit(&selection->ranks[i]);
		for (size_t j = 0; j < SELECTION_TOPS; j++) {
			block_top_deinit(&selection->tops[i][false][j]);
			block_top_deinit(&selection->tops[i][true][j]);
		}
	}
	free(selection->extents);
	free(selection->key);
	free(selection);
}
CLEANUP_DEFINE(struct selection *, selection_release);

struct selection *selection_hold(struct selection *selection)
{
	__atomic_add_fetch(&selection->references, 1, __ATOMIC_RELAXED);
	return selection;
}

static struct err *create(struct dataset *dataset, const struct filter *filter, const char *key,
			  struct selection **ret)
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
		err = filter_match(filter, dataset->recording, dataset->symbolized,
				   &selection->match);
		selection->bits = selection->match.words;
		selection->count = selection->match.count;
	}
	if (!err)
		*ret = steal(&selection);
	return err;
}

/* Puts it in front; what was at index, or is last, makes room. */
static void move_to_front(struct dataset *dataset, size_t index, struct selection *selection)
{
	memmove(dataset->selections + 1, dataset->selections, index * sizeof(*dataset->selections));
	dataset->selections[0] = selection;
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
		err = create(dataset, filter, key, &selection);
		if (err)
			return err;
		selection_release(dataset->selections[--i]);
	}
	move_to_front(dataset, i, selection);
	*ret = selection_hold(selection);
	return NULL;
}

static enum block_order block_order(enum selection_order order)
{
	return order == SELECTION_BY_SIZE ? BLOCK_ORDER_SIZE : BLOCK_ORDER_ADDRESS;
}

struct err *selection_top(struct dataset *dataset, struct selection *selection,
			  enum selection_order order, bool descending, uint64_t end,
			  const uint32_t **ret)
{
	static const uint64_t rows[SELECTION_TOPS] = SELECTION_TOP_ROWS;
	const struct block_columns *blocks = dataset->blocks;
	const uint64_t *keys = order == SELECTION_BY_SIZE ? blocks->size : blocks->address;
	struct block_top *top;
	struct err *err = NULL;
	size_t i = 0;

	*ret = NULL;
	if (order == SELECTION_BY_TIME ||
	    recording_has_block_order(dataset->recording, block_order(order)))
		return NULL;
	while (i < SELECTION_TOPS && rows[i] < end)
		i++;
	if (i == SELECTION_TOPS)
		return NULL;
	top = &selection->tops[order][descending][i];
	if (!top->rows)
		err = block_top_create(selection->bits, keys, blocks->count, descending, rows[i],
				       top);
	*ret = top->rows;
	return err;
}

struct err *selection_ranks(struct dataset *dataset, struct selection *selection,
			    enum selection_order order, const struct block_ranks **ret)
{
	struct block_ranks *ranks = &selection->ranks[order];
	const uint32_t *rows = NULL;
	struct err *err = NULL;

	if (!ranks->blocks && order != SELECTION_BY_TIME)
		err = recording_block_order(dataset->recording, block_order(order), &rows);
	if (!err && !ranks->blocks)
		err = block_ranks_create(selection->bits, rows, dataset->blocks->count, ranks);
	*ret = ranks;
	return err;
}

struct err *selection_extents(struct dataset *dataset, struct selection *selection,
			      const struct site_extent **ret)
{
	struct err *err = NULL;

	if (!selection->bits)
		return dataset_extents(dataset, ret);
	if (!selection->extents)
		err = site_extents_create(dataset->recording, selection->bits, &selection->extents);
	*ret = selection->extents;
	return err;
}
