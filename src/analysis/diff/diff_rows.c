#include "analysis/diff/diff_rows.h"

#include <stdlib.h>

#include "analysis/names/own_code.h"
#include "hosted/cleanup.h"

CLEANUP_DEFINE(struct breakdown *, breakdown_destroy);

void diff_rows_deinit(struct diff_rows *rows)
{
	free(rows->items);
	breakdown_destroy(rows->breakdown);
	*rows = (struct diff_rows){0};
}

int64_t diff_row_change(const struct diff_row *row, enum metric metric)
{
	return (int64_t)(metric_of_site(metric, &row->sums[DIFF_AFTER]) -
			 metric_of_site(metric, &row->sums[DIFF_BEFORE]));
}

int64_t diff_change(const struct diff *diff, enum metric metric)
{
	return (int64_t)(metric_of_sum(metric, recording_summary(diff->sides[DIFF_AFTER])) -
			 metric_of_sum(metric, recording_summary(diff->sides[DIFF_BEFORE])));
}

static uint64_t size_of(int64_t change)
{
	return change < 0 ? -(uint64_t)change : (uint64_t)change;
}

/* Equal changes stand in the order of the common sites. */
static int by_change(const void *left, const void *right, void *argument)
{
	const struct diff_row *const *a = left, *const *b = right;
	enum metric metric = *(const enum metric *)argument;
	uint64_t change_a = size_of(diff_row_change(*a, metric));
	uint64_t change_b = size_of(diff_row_change(*b, metric));

	if (change_a != change_b)
		return change_a < change_b ? 1 : -1;
	return (*a > *b) - (*a < *b);
}

/* Keeps the rows that changed, sorted. */
static struct err *sort(struct diff_rows *rows, enum metric metric)
{
	auto_free const struct diff_row **order = malloc((rows->count + 1u) * sizeof(*order));
	struct diff_row *sorted = malloc((rows->count + 1u) * sizeof(*sorted));
	uint32_t count = 0;

	if (!order || !sorted) {
		free(sorted);
		return err_no_memory();
	}
	for (uint32_t i = 0; i < rows->count; i++)
		if (diff_row_change(&rows->items[i], metric))
			order[count++] = &rows->items[i];
	qsort_r(order, count, sizeof(struct diff_row *), by_change, &metric);
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = *order[i];
	free(rows->items);
	rows->items = sorted;
	rows->count = count;
	return NULL;
}

/* Both sides have the same sites in the same order, so their rows have the same order, too. */
static struct err *from_breakdowns(const struct diff *diff, enum breakdown_by by,
				   struct diff_rows *rows)
{
	cleanup(breakdown_destroy_at) struct breakdown *after = NULL;
	struct err *err;

	err = breakdown_create(by, diff->sides[DIFF_BEFORE], diff->symbolized, NULL,
			       &rows->breakdown);
	if (!err)
		err = breakdown_create(by, diff->sides[DIFF_AFTER], diff->symbolized, NULL, &after);
	if (err)
		return err;
	rows->items = malloc((after->count + 1u) * sizeof(*rows->items));
	if (!rows->items)
		return err_no_memory();
	rows->count = after->count;
	for (uint32_t i = 0; i < after->count; i++) {
		const struct breakdown_row *before = &rows->breakdown->rows[i];

		rows->items[i] = (struct diff_row){
			.sums = {before->own, after->rows[i].own},
			.name = before->name,
			.frame = before->frame,
			.stack = RECORDING_NONE,
		};
	}
	return NULL;
}

static struct err *from_sites(const struct diff *diff, struct diff_rows *rows)
{
	uint32_t count;
	const struct site *before = recording_sites(diff->sides[DIFF_BEFORE], &count);
	const struct site *after = recording_sites(diff->sides[DIFF_AFTER], &count);
	struct err *err = NULL;

	rows->items = malloc((count + 1u) * sizeof(*rows->items));
	if (!rows->items)
		return err_no_memory();
	for (uint32_t i = 0; !err && i < count; i++) {
		struct own_code code;

		err = own_code_of_stack(diff->symbolized, after[i].stack, &code);
		if (!err)
			rows->items[rows->count++] = (struct diff_row){
				.sums = {before[i], after[i]},
				.frame = code.frame,
				.call = code.call,
				.stack = after[i].stack,
			};
	}
	return err;
}

struct err *diff_rows_create(const struct diff *diff, enum diff_by by, enum metric metric,
			     struct diff_rows *ret)
{
	static const enum breakdown_by breakdowns[] = {
		[DIFF_BY_FUNCTION] = BREAKDOWN_FUNCTION,
		[DIFF_BY_FILE] = BREAKDOWN_FILE,
		[DIFF_BY_MODULE] = BREAKDOWN_MODULE,
	};
	struct err *err = by == DIFF_BY_SITE ? from_sites(diff, ret)
					     : from_breakdowns(diff, breakdowns[by], ret);

	if (!err)
		err = sort(ret, metric);
	if (err)
		diff_rows_deinit(ret);
	return err;
}
