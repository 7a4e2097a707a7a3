#include "server/rows.h"

struct err *rows_begin(struct request *request, struct selection *selection, struct rows *ret)
{
	enum selection_order order = request->choices[PARAMETER_BLOCK_SORT];
	bool descending = request_descends(request, order == SELECTION_BY_SIZE);
	const struct block_ranks *ranks;
	struct rows rows = {.left = 0};
	uint64_t first, end;
	struct err *err;

	request_page(request, selection->count, &first, &end);
	rows.left = end - first;
	err = selection_top(request->dataset, selection, order, descending, end, &rows.top);
	if (!err && rows.top) {
		rows.top += first;
	} else if (!err) {
		err = selection_ranks(request->dataset, selection, order, &ranks);
		if (!err && rows.left)
			block_walk_begin(ranks, first, descending, &rows.walk);
	}
	*ret = rows;
	return err;
}

bool rows_next(struct rows *rows, uint64_t *ret)
{
	if (!rows->left)
		return false;
	rows->left--;
	*ret = rows->top ? *rows->top++ : block_walk_next(&rows->walk);
	return true;
}
