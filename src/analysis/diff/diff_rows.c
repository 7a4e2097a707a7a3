#include "analysis/diff/diff_rows.h"

#include <stdlib.h>

#include "analysis/names/own_code.h"
#include "hosted/cleanup.h"

void diff_rows_deinit(struct diff_rows *rows)
{
	free(rows->items);
	block_groups_deinit(&rows->groups);
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

/*
 * Functions of one name may lie in several files: a row shows the line of the place that changed
 * most.
 */
static struct err *find_lines(const struct diff *diff, struct diff_rows *rows, enum metric metric)
{
	auto_free uint64_t *most = calloc(rows->count + 1u, sizeof(*most));
	uint32_t count;
	const struct site *before = recording_sites(diff->sides[DIFF_BEFORE], &count);
	const struct site *after = recording_sites(diff->sides[DIFF_AFTER], &count);

	if (!most)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++) {
		uint64_t change = size_of((int64_t)(metric_of_site(metric, &after[i]) -
						    metric_of_site(metric, &before[i])));
		uint32_t row = rows->groups.group_of[i];
		struct own_code code;
		struct err *err = NULL;

		if (change <= most[row])
			continue;
		err = own_code_of_stack(diff->symbolized, after[i].stack, &code);
		if (err)
			return err;
		if (!code.frame)
			continue;
		most[row] = change;
		rows->items[row].frame = code.frame;
	}
	return NULL;
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

/* All functions of the stacks are groups, so that equal changes are in the order of the stacks. */
static struct err *from_groups(const struct diff *diff, enum block_groups_by by,
			       struct diff_rows *rows)
{
	struct err *err = block_groups_create_inclusive(diff->sides[DIFF_AFTER], diff->symbolized,
							by, NULL, NULL, &rows->groups);

	if (err)
		return err;
	rows->items = calloc(rows->groups.count + 1u, sizeof(*rows->items));
	if (!rows->items)
		return err_no_memory();
	rows->count = rows->groups.count;
	for (uint32_t i = 0; i < rows->count; i++)
		rows->items[i] = (struct diff_row){.name = rows->groups.names[i],
						   .frame = rows->groups.frames[i],
						   .stack = RECORDING_NONE};
	for (int side = 0; side < DIFF_SIDES; side++) {
		uint32_t count;
		const struct site *sites = recording_sites(diff->sides[side], &count);

		// Both sides have the same sites, so that they have the same groups.
		for (uint32_t i = 0; i < count; i++)
			metric_add_site(&rows->items[rows->groups.group_of[i]].sums[side],
					&sites[i]);
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
	static const enum block_groups_by keys[] = {
		[DIFF_BY_FUNCTION] = BLOCK_GROUPS_FUNCTION,
		[DIFF_BY_FILE] = BLOCK_GROUPS_FILE,
		[DIFF_BY_MODULE] = BLOCK_GROUPS_MODULE,
	};
	struct err *err =
		by == DIFF_BY_SITE ? from_sites(diff, ret) : from_groups(diff, keys[by], ret);

	if (!err && by == DIFF_BY_FUNCTION)
		err = find_lines(diff, ret, metric);
	if (!err)
		err = sort(ret, metric);
	if (err)
		diff_rows_deinit(ret);
	return err;
}
