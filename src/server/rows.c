#include "server/rows.h"

#include "analysis/blocks/block_bits.h"

enum { BY_TIME, BY_ADDRESS, BY_SIZE }; /* the choices of sort_by */

static uint64_t row_at(const struct rows *rows, uint64_t at)
{
	if (rows->descending)
		at = rows->blocks - 1 - at;
	return rows->order ? rows->order[at] : at;
}

/* Without looking at each block where they come in order. */
static void skip(struct rows *rows, uint64_t count)
{
	if (!rows->bits) {
		rows->at = count;
		return;
	}
	while (!rows->order && !rows->descending && rows->at + 64 <= rows->blocks) {
		uint64_t here = (uint64_t)__builtin_popcountll(rows->bits[rows->at / 64]);

		if (here > count)
			break;
		count -= here;
		rows->at += 64;
	}
	while (count) {
		count -= block_bits_has(rows->bits, row_at(rows, rows->at));
		rows->at++;
	}
}

struct err *rows_begin(struct request *request, const struct selection *selection, struct rows *ret)
{
	const struct recording *recording = request->dataset->recording;
	unsigned int sort = request->choices[PARAMETER_BLOCK_SORT];
	struct rows rows = {
		.bits = selection->bits,
		.blocks = request->dataset->blocks->count,
		.descending = request_descends(request, sort == BY_SIZE),
	};
	struct err *err = NULL;
	uint64_t first, end;

	if (sort == BY_SIZE)
		err = recording_block_order(recording, BLOCK_ORDER_SIZE, &rows.order);
	else if (sort == BY_ADDRESS)
		err = recording_block_order(recording, BLOCK_ORDER_ADDRESS, &rows.order);
	if (err)
		return err;
	request_page(request, selection->count, &first, &end);
	rows.left = end - first;
	if (rows.left)
		skip(&rows, first);
	*ret = rows;
	return NULL;
}

bool rows_next(struct rows *rows, uint64_t *ret)
{
	uint64_t row;

	if (!rows->left)
		return false;
	do
		row = row_at(rows, rows->at++);
	while (!block_bits_has(rows->bits, row));
	rows->left--;
	*ret = row;
	return true;
}
