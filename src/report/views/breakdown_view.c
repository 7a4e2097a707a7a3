#include "report/views/breakdown_view.h"

#include <stdlib.h>

#include "hosted/cleanup.h"

#define EXACT_SIZES 32 /* if there are more different sizes, classes are shown */

void breakdown_view_deinit(struct breakdown_view *view)
{
	free(view->rows);
	sums_destroy(view->sums);
}

static bool make_room(struct breakdown_view *view, uint32_t count)
{
	view->rows = calloc((size_t)count + 1, sizeof(*view->rows));
	view->count = count;
	return view->rows;
}

static struct err *add_frames(struct breakdown_view *view, const struct report_subject *subject)
{
	cleanup(sums_destroy_at) struct sums *own = NULL;
	struct sums_query query = {.brief = true};
	const struct block_groups *groups;
	struct err *err = sums_create_inclusive(subject->recording, subject->symbolized, NULL,
						view->by, &view->sums);

	if (err)
		return err;
	groups = query.first = &view->sums->groups;
	err = sums_create(subject->recording, &query, &own);
	if (err)
		return err;
	if (!make_room(view, groups->count))
		return err_no_memory();
	for (uint32_t i = 0; i < groups->count; i++)
		view->rows[i] = (struct breakdown_row){
			.number = i, .name = groups->names[i], .frame = groups->frames[i]};
	for (uint32_t i = 0; i < view->sums->count; i++)
		view->rows[view->sums->rows[i].first].inclusive = view->sums->rows[i].sum;
	for (uint32_t i = 0; i < own->count; i++) {
		struct breakdown_row *row = &view->rows[own->rows[i].first];

		row->own = own->rows[i].sum;
		// A sum over several processes is no peak that ever was.
		row->own_peak_known =
			own->rows[i].sites == 1 && !recording_facts(subject->recording)->processes;
	}
	return NULL;
}

/* The row of some blocks. */
static struct breakdown_row row_of(const struct report_subject *subject,
				   const struct block_groups *groups, const struct sums_row *sums)
{
	struct breakdown_row row = {
		.own = sums->sum,
		.own_peak_known = true,
		.first_ns = sums->first_ns,
		.number = sums->first,
	};

	if (sums->first == RECORDING_NONE)
		row = (struct breakdown_row){
			.own = sums->sum, .first_ns = UINT64_MAX, .culled = true};
	else if (groups->by == BLOCK_GROUPS_THREAD)
		row.thread = &recording_threads(subject->blocks, NULL)[sums->first];
	else
		block_groups_range(groups, sums->first, &row.smallest, &row.largest);
	if (groups->by == BLOCK_GROUPS_MARK && !row.culled)
		row.mark = groups->marks[sums->first];
	return row;
}

static struct err *add_blocks(struct breakdown_view *view, const struct report_subject *subject)
{
	cleanup(block_groups_deinit) struct block_groups groups = {0};
	struct sums_query query = {
		.bits = subject->bits,
		.first = &groups,
		.suppressed = subject->suppressed ? subject->suppressed->stacks : NULL,
	};
	struct err *err =
		view->by == BLOCK_GROUPS_SIZE
			? block_groups_create_sizes(subject->blocks, subject->bits, EXACT_SIZES,
						    &groups)
			: block_groups_create(subject->blocks, NULL, view->by, 0, &groups);

	if (!err)
		err = sums_create(subject->blocks, &query, &view->sums);
	if (err)
		return err;
	if (!make_room(view, view->sums->count))
		return err_no_memory();
	for (uint32_t i = 0; i < view->count; i++)
		view->rows[i] = row_of(subject, &groups, &view->sums->rows[i]);
	return NULL;
}

static int descending(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

/* Equal ones are sorted by the other sum, by all that they allocated, and by who came first. */
static int compare(const void *left, const void *right, void *argument)
{
	const struct breakdown_row *a = left, *b = right;
	const struct breakdown_view *view = argument;
	const struct site *first_a = view->inclusive ? &a->inclusive : &a->own;
	const struct site *first_b = view->inclusive ? &b->inclusive : &b->own;
	const struct site *then_a = view->inclusive ? &a->own : &a->inclusive;
	const struct site *then_b = view->inclusive ? &b->own : &b->inclusive;
	int result = descending(metric_of_site(view->metric, first_a),
				metric_of_site(view->metric, first_b));

	if (!result)
		result = descending(metric_of_site(view->metric, then_a),
				    metric_of_site(view->metric, then_b));
	if (!result)
		result = descending(first_a->total_bytes, first_b->total_bytes);
	if (!result)
		result = descending(b->first_ns, a->first_ns);
	return result ? result : descending(b->number, a->number);
}

struct err *breakdown_view_make(struct breakdown_view *view, const struct report_subject *subject)
{
	struct err *err = breakdown_view_of_blocks(view->by) ? add_blocks(view, subject)
							     : add_frames(view, subject);

	if (!err)
		qsort_r(view->rows, view->count, sizeof(*view->rows), compare, view);
	return err;
}
