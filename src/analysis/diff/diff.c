#include "analysis/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/index/index_read.h"
#include "analysis/merge/merge_sites.h"
#include "hosted/cleanup.h"

struct diff_impl {
	struct diff diff;
	struct recording joined; /* has what the sides share */
	struct merge_sites merge;
	struct recording *sides[DIFF_SIDES]; /* owned */
};

CLEANUP_DEFINE(struct recording *, recording_close);

void diff_destroy(struct diff *diff)
{
	struct diff_impl *impl = (struct diff_impl *)diff;

	if (!impl)
		return;
	symbolized_destroy(impl->diff.symbolized);
	for (int i = 0; i < DIFF_SIDES; i++)
		recording_close(impl->sides[i]);
	merge_sites_deinit(&impl->merge);
	recording_deinit(&impl->joined);
	free(impl);
}
CLEANUP_DEFINE(struct diff *, diff_destroy);

static uint64_t scaled(uint64_t value, double scale)
{
	double result = (double)value * scale + 0.5;

	if (scale == 1)
		return value;
	return result < 0x1p64 ? (uint64_t)result : UINT64_MAX;
}

/*
 * What a value adds to the scaled sum of those before it: so scaled values are whole numbers, and
 * add up to the scaled whole. *sum: of the values before it, not scaled.
 */
static uint64_t scaled_next(uint64_t value, uint64_t *sum, double scale)
{
	uint64_t before = scaled(*sum, scale);

	*sum += value;
	return scaled(*sum, scale) - before;
}

/* sum: of the sites before it, not scaled. */
static void scale_site(struct site *site, struct site *sum, double scale)
{
#define SCALE(field) site->field = scaled_next(site->field, &sum->field, scale);
	INDEX_SITE_COLUMNS(SCALE)
#undef SCALE
}

static void scale_sum(struct recording_summary *sum, double scale)
{
	uint64_t *const fields[] = {
		&sum->calls,        &sum->total_bytes,   &sum->peak_bytes, &sum->peak_blocks,
		&sum->leaked_bytes, &sum->leaked_blocks, &sum->temporary,  &sum->live_bytes,
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		*fields[i] = scaled(*fields[i], scale);
}

/*
 * *ret: a recording of one side that borrows all but its sites, which get the stacks of all common
 * sites and no sums.
 */
static struct err *make_side(const struct diff_impl *impl, const struct diff_side *side,
			     struct recording **ret)
{
	const struct site_table *joined = &impl->joined.sites;
	cleanup(recording_close_at) struct recording *made = malloc(sizeof(*made));

	if (!made)
		return err_no_memory();
	*made = impl->joined;
	made->borrowed = true;
	made->sites = (struct site_table){0};
	made->facts = side->recording->facts;
	made->summary = side->recording->summary;
	scale_sum(&made->summary, side->scale);
	if (!vec_reserve(&made->sites.sites, joined->sites.count + 1))
		return err_no_memory();
	made->sites.sites.count = joined->sites.count;
	for (size_t i = 0; i < joined->sites.count; i++)
		made->sites.sites.items[i] = (struct site){.stack = joined->sites.items[i].stack};
	*ret = steal(&made);
	return NULL;
}

/* Shares the sums of the common sites out: those of after are known, before has the rest. */
static void share(struct diff_impl *impl, const struct diff_side sides[DIFF_SIDES],
		  const struct site *after, size_t after_count)
{
	const struct site_table *joined = &impl->joined.sites;
	struct site sums[DIFF_SIDES] = {0};

	for (size_t i = 0; i < joined->sites.count; i++) {
		struct site *to[DIFF_SIDES] = {
			&impl->sides[DIFF_BEFORE]->sites.sites.items[i],
			&impl->sides[DIFF_AFTER]->sites.sites.items[i],
		};
		struct site rest = joined->sites.items[i];

		if (i < after_count) {
			*to[DIFF_AFTER] = after[i];
#define SUBTRACT(field) rest.field -= after[i].field;
			INDEX_SITE_COLUMNS(SUBTRACT)
#undef SUBTRACT
		}
		*to[DIFF_BEFORE] = rest;
		for (int side = 0; side < DIFF_SIDES; side++)
			scale_site(to[side], &sums[side], sides[side].scale);
	}
}

/* After comes first: where both have a frame, the names and lines are those of the later build. */
static struct err *join(struct diff_impl *impl, const struct diff_side sides[DIFF_SIDES])
{
	const struct recording *both[DIFF_SIDES] = {sides[0].recording, sides[1].recording};
	const struct diff_side *before = &sides[DIFF_BEFORE], *after = &sides[DIFF_AFTER];
	const struct site_table *joined = &impl->joined.sites;
	auto_free struct site *sums = NULL;
	struct err *err;
	size_t count = 0;

	impl->merge.into = &impl->joined;
	err = merge_sites_by_name(&impl->merge, both, DIFF_SIDES);
	if (!err)
		err = merge_sites_add(&impl->merge, after->recording, after->symbolized, true);
	if (err)
		return err;
	count = joined->sites.count;
	sums = malloc((count + 1) * sizeof(*sums));
	if (!sums)
		return err_no_memory();
	if (count)
		memcpy(sums, joined->sites.items, count * sizeof(*sums));
	err = merge_sites_add(&impl->merge, before->recording, before->symbolized, true);
	if (!err)
		err = merge_sites_finish(&impl->merge);
	for (int i = 0; !err && i < DIFF_SIDES; i++)
		err = make_side(impl, &sides[i], &impl->sides[i]);
	if (!err)
		share(impl, sides, sums, count);
	return err;
}

struct err *diff_create(const struct diff_side sides[DIFF_SIDES], struct diff **ret)
{
	struct diff_impl *impl = calloc(1, sizeof(*impl));
	cleanup(diff_destroy_at) struct diff *diff = impl ? &impl->diff : NULL;
	struct err *err;

	if (!impl)
		return err_no_memory();
	err = join(impl, sides);
	if (!err)
		err = symbolized_create_named(&impl->joined, impl->merge.lines.items,
					      &diff->symbolized);
	if (err)
		return err;
	for (int i = 0; i < DIFF_SIDES; i++)
		diff->sides[i] = impl->sides[i];
	*ret = steal(&diff);
	return NULL;
}
