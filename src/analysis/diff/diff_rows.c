#include "analysis/diff/diff_rows.h"

#include <stdlib.h>

#include "analysis/names/own_code.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "hosted/intern.h"
#include "hosted/map.h"

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

/* For each row the site that changed most of those that it is called after. */
struct lines {
	const struct diff *diff;
	enum metric metric;
	struct intern names;
	struct map rows; /* from an interned name to the row */
	uint64_t *most;  /* for each row: by how much that site changed */
};

static void lines_deinit(struct lines *lines)
{
	intern_deinit(&lines->names);
	map_deinit(&lines->rows);
	free(lines->most);
}

static struct err *prepare_lines(struct lines *lines, const struct diff_rows *rows)
{
	lines->most = calloc(rows->count + 1u, sizeof(*lines->most));
	if (!lines->most)
		return err_no_memory();
	for (uint32_t i = 0; i < rows->count; i++) {
		const char *name = intern_text(&lines->names, rows->items[i].name);
		uint64_t *row = name ? map_put(&lines->rows, (uintptr_t)name) : NULL;

		if (!row)
			return err_no_memory();
		*row = i;
	}
	return NULL;
}

/* Takes the site's line for the row of its function, if it changed more than those before it. */
static struct err *offer_line(struct lines *lines, struct diff_rows *rows, struct buf *scratch,
			      const struct site *before, const struct site *after)
{
	uint64_t change = size_of((int64_t)(metric_of_site(lines->metric, after) -
					    metric_of_site(lines->metric, before)));
	struct own_code code;
	const char *name;
	uint64_t row;
	struct err *err = own_code_of_stack(lines->diff->symbolized, after->stack, &code);

	if (err)
		return err;
	scratch->size = 0;
	breakdown_put_name(scratch, BREAKDOWN_FUNCTION, code.frame);
	name = buf_string(scratch) ? intern_text(&lines->names, scratch->data) : NULL;
	if (!name)
		return err_no_memory();
	row = map_get(&lines->rows, (uintptr_t)name);
	if (row != MAP_NONE && code.frame && change > lines->most[row]) {
		lines->most[row] = change;
		rows->items[row].frame = code.frame;
	}
	return NULL;
}

/*
 * Functions of one name may lie in several files: a row shows the line of the place that changed
 * most.
 */
static struct err *find_lines(const struct diff *diff, struct diff_rows *rows, enum metric metric)
{
	cleanup(lines_deinit) struct lines lines = {.diff = diff, .metric = metric};
	cleanup(buf_deinit) struct buf scratch = BUF_EMPTY;
	uint32_t count;
	const struct site *before = recording_sites(diff->sides[DIFF_BEFORE], &count);
	const struct site *after = recording_sites(diff->sides[DIFF_AFTER], &count);
	struct err *err = prepare_lines(&lines, rows);

	for (uint32_t i = 0; !err && i < count; i++)
		err = offer_line(&lines, rows, &scratch, &before[i], &after[i]);
	return err;
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
	if (!err && by == DIFF_BY_FUNCTION)
		err = find_lines(diff, ret, metric);
	if (err)
		diff_rows_deinit(ret);
	return err;
}
