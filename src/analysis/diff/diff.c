#include "analysis/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/index/index_read.h"
#include "analysis/merge/merge_sites.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"

struct diff_impl {
	struct diff diff;
	struct recording joined; /* has what the sides share */
	struct merge_sites merge;
	struct recording *sides[DIFF_SIDES]; /* owned */
	uint32_t *places[DIFF_SIDES];        /* of each site of a recording, the common one */
	uint32_t *block_sites[DIFF_SIDES];   /* of each block of a recording; NULL: it has none */
};

void diff_destroy(struct diff *diff)
{
	struct diff_impl *impl = (struct diff_impl *)diff;

	if (!impl)
		return;
	symbolized_destroy(impl->diff.symbolized);
	for (int i = 0; i < DIFF_SIDES; i++) {
		if (impl->sides[i])
			block_cache_destroy(impl->sides[i]->views);
		recording_close(impl->sides[i]);
		free(impl->places[i]);
		free(impl->block_sites[i]);
	}
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

	for (size_t i = 0; i < ARRAY_COUNT(fields); i++)
		*fields[i] = scaled(*fields[i], scale);
}

/*
 * Lets a side have the blocks of its recording, at common sites, and what groups of blocks are
 * called after. Stacks of frees are left out: they are no common ones.
 */
static struct err *take_blocks(struct diff_impl *impl, int number, const struct recording *from)
{
	struct recording *side = impl->sides[number];
	const struct block_columns *blocks = &from->blocks.columns;
	uint32_t *sites;

	if (!from->views)
		return NULL;
	sites = impl->block_sites[number] = malloc((blocks->count + 1) * sizeof(*sites));
	if (!sites)
		return err_no_memory();
	for (uint64_t i = 0; i < blocks->count; i++)
		sites[i] = impl->places[number][blocks->site[i]];
	side->blocks = from->blocks;
	side->blocks.columns.site = sites;
	side->blocks.columns.free_stack = NULL;
	memcpy(&side->threads, &from->threads, sizeof(side->threads));
	memcpy(&side->memory, &from->memory, sizeof(side->memory));
	memcpy(&side->marks, &from->marks, sizeof(side->marks));
	memcpy(&side->switches, &from->switches, sizeof(side->switches));
	side->pools = from->pools;
	return block_cache_create(&side->views);
}

/* Makes a recording of one side: it borrows all but its sites, which are all common ones. */
static struct err *make_side(struct diff_impl *impl, int number, const struct diff_side *side)
{
	const struct site_table *joined = &impl->joined.sites;
	struct recording *made = impl->sides[number] = malloc(sizeof(*made));
	const struct site *from = side->recording->sites.sites.items;
	struct site sum = {0};

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
	for (size_t i = 0; i < side->recording->sites.sites.count; i++)
		merge_sites_sum(&made->sites.sites.items[impl->places[number][i]], &from[i]);
	for (size_t i = 0; i < joined->sites.count; i++)
		scale_site(&made->sites.sites.items[i], &sum, side->scale);
	return take_blocks(impl, number, side->recording);
}

static struct err *add_side(struct diff_impl *impl, int number, const struct diff_side *side)
{
	size_t count = side->recording->sites.sites.count;

	impl->places[number] = malloc((count + 1) * sizeof(*impl->places[number]));
	if (!impl->places[number])
		return err_no_memory();
	return merge_sites_add(&impl->merge, side->recording, side->symbolized, true,
			       impl->places[number]);
}

/* After comes first: where both have a frame, the names and lines are those of the later build. */
static struct err *join(struct diff_impl *impl, const struct diff_side sides[DIFF_SIDES])
{
	const struct recording *both[DIFF_SIDES] = {sides[0].recording, sides[1].recording};
	struct err *err;

	impl->merge.into = &impl->joined;
	err = merge_sites_by_name(&impl->merge, both, DIFF_SIDES);
	if (!err)
		err = add_side(impl, DIFF_AFTER, &sides[DIFF_AFTER]);
	if (!err)
		err = add_side(impl, DIFF_BEFORE, &sides[DIFF_BEFORE]);
	if (!err)
		err = merge_sites_finish(&impl->merge);
	for (int i = 0; !err && i < DIFF_SIDES; i++)
		err = make_side(impl, i, &sides[i]);
	return err;
}

struct err *diff_names(const struct diff *diff, int side, struct symbolized **ret)
{
	const struct diff_impl *impl = (const struct diff_impl *)diff;

	return symbolized_create_named(impl->sides[side], impl->merge.lines.items, ret);
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
