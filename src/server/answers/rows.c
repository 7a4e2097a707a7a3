#include "server/answers/rows.h"

#include <stdlib.h>
#include <string.h>

void rows_deinit(struct rows *rows)
{
	free(rows->chosen);
	*rows = (struct rows){0};
}

/* Copies the rows: another request may replace them while this page is being written. */
static struct err *copy(const uint32_t *chosen, struct rows *rows)
{
	rows->chosen = malloc(rows->left * sizeof(*chosen));
	if (!rows->chosen)
		return err_no_memory();
	memcpy(rows->chosen, chosen, rows->left * sizeof(*chosen));
	return NULL;
}

struct err *rows_begin(struct request *request, struct selection *selection, struct rows *ret)
{
	enum selection_order order = request->choices[PARAMETER_BLOCK_SORT];
	bool descending = request_descends(request, order >= SELECTION_BY_SIZE);
	const struct block_pages *ranks;
	const uint32_t *chosen;
	uint64_t first, end;
	struct err *err;

	request_page(request, selection->count, &first, &end);
	*ret = (struct rows){.left = end - first};
	if (!ret->left)
		return NULL;
	err = selection_top(request->dataset, selection, order, descending, first, end, &chosen);
	if (err)
		return err;
	if (chosen)
		return copy(chosen, ret);
	err = selection_ranks(request->dataset, selection, order, &ranks);
	if (!err)
		block_cursor_begin(ranks, first, descending, &ret->walk);
	return err;
}

bool rows_next(struct rows *rows, uint64_t *ret)
{
	if (!rows->left)
		return false;
	rows->left--;
	*ret = rows->chosen ? rows->chosen[rows->next++] : block_cursor_next(&rows->walk);
	return true;
}
