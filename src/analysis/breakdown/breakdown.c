#include "analysis/breakdown/breakdown.h"

#include "analysis/breakdown/breakdown_data.h"
#include "hosted/cleanup.h"

static const struct breakdown_info infos[BREAKDOWN_COUNT] = {
#define BREAKDOWN(NAME, name, plural, source)                                                      \
	[BREAKDOWN_##NAME] = {name, plural, BREAKDOWN_FROM_##source},
#include "analysis/breakdown/breakdown.def"
#undef BREAKDOWN
};

const struct breakdown_info *breakdown_info(enum breakdown_by by)
{
	return &infos[by];
}

void breakdown_destroy(struct breakdown *breakdown)
{
	struct breakdown_impl *impl = (struct breakdown_impl *)breakdown;

	if (!impl)
		return;
	vec_deinit(&impl->rows);
	intern_deinit(&impl->names);
	free(impl);
}
CLEANUP_DEFINE(struct breakdown *, breakdown_destroy);

void breakdown_add(struct site *sum, const struct site *more)
{
	sum->calls += more->calls;
	sum->total_bytes += more->total_bytes;
	sum->peak_bytes += more->peak_bytes;
	sum->peak_blocks += more->peak_blocks;
	sum->leaked_bytes += more->leaked_bytes;
	sum->leaked_blocks += more->leaked_blocks;
	sum->temporary += more->temporary;
}

static struct err *make(struct breakdown_impl *impl, const struct recording *recording,
			struct symbolized *symbolized, const struct seen_blocks *blocks)
{
	struct breakdown *breakdown = &impl->breakdown;
	struct err *err = breakdown_of_blocks(breakdown->by)
				  ? breakdown_from_blocks(impl, recording, blocks)
				  : breakdown_from_stacks(impl, recording, symbolized);

	if (err)
		return err;
	breakdown->rows = impl->rows.items;
	breakdown->count = (uint32_t)impl->rows.count;
	for (uint32_t i = 0; i < breakdown->count; i++)
		breakdown->rows[i].number = i;
	return NULL;
}

static struct err *create(enum breakdown_by by, const struct recording *recording,
			  struct symbolized *symbolized, const struct seen_blocks *blocks,
			  breakdown_member *member, void *argument, struct breakdown **ret)
{
	struct breakdown_impl *impl = calloc(1, sizeof(*impl));
	cleanup(breakdown_destroy_at) struct breakdown *breakdown = impl ? &impl->breakdown : NULL;
	struct err *err;

	if (!impl)
		return err_no_memory();
	breakdown->by = by;
	impl->member = member;
	impl->argument = argument;
	err = make(impl, recording, symbolized, blocks);
	if (!err)
		*ret = steal(&breakdown);
	return err;
}

struct err *breakdown_create(enum breakdown_by by, const struct recording *recording,
			     struct symbolized *symbolized, const struct seen_blocks *blocks,
			     struct breakdown **ret)
{
	return create(by, recording, symbolized, blocks, NULL, NULL, ret);
}

struct err *breakdown_create_members(enum breakdown_by by, const struct recording *recording,
				     struct symbolized *symbolized, breakdown_member *member,
				     void *argument, struct breakdown **ret)
{
	return create(by, recording, symbolized, NULL, member, argument, ret);
}

struct order {
	enum metric metric;
	bool inclusive;
};

static int descending(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int compare(const void *left, const void *right, void *argument)
{
	const struct breakdown_row *a = left, *b = right;
	const struct order *order = argument;
	const struct site *first_a = order->inclusive ? &a->inclusive : &a->own;
	const struct site *first_b = order->inclusive ? &b->inclusive : &b->own;
	const struct site *then_a = order->inclusive ? &a->own : &a->inclusive;
	const struct site *then_b = order->inclusive ? &b->own : &b->inclusive;
	int result = descending(metric_of_site(order->metric, first_a),
				metric_of_site(order->metric, first_b));

	if (!result)
		result = descending(metric_of_site(order->metric, then_a),
				    metric_of_site(order->metric, then_b));
	if (!result)
		result = descending(first_a->total_bytes, first_b->total_bytes);
	return result ? result : descending(b->number, a->number);
}

void breakdown_sort(struct breakdown *breakdown, enum metric metric, bool inclusive)
{
	struct order order = {metric, inclusive};

	if (breakdown->count)
		qsort_r(breakdown->rows, breakdown->count, sizeof(*breakdown->rows), compare,
			&order);
}
