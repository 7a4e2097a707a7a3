#include "analysis/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/index/index_read.h"
#include "analysis/merge/merge_sites.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"

struct diff_impl {
	struct diff diff;
	struct recording *joined; /* the sites, frames and stacks of both, owned */
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
		recording_close(impl->sides[i]);
		free(impl->places[i]);
		free(impl->block_sites[i]);
	}
	merge_sites_deinit(&impl->merge);
	recording_close(impl->joined);
	free(impl);
}

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
 * Lets a side have the blocks of its recording, at common sites. Stacks of frees are left out: they
 * are no common ones.
 */
static struct err *take_blocks(struct diff_impl *impl, int number, const struct recording *from)
{
	struct recording_blocks *made = impl->sides[number]->blocks;
	const struct block_columns *blocks = &from->blocks->store.columns;
	uint32_t *sites;

	if (!from->blocks->cache)
		return NULL;
	sites = impl->block_sites[number] = malloc((blocks->count + 1) * sizeof(*sites));
	if (!sites)
		return err_no_memory();
	for (uint64_t i = 0; i < blocks->count; i++)
		sites[i] = impl->places[number][blocks->site[i]];
	made->store.columns = *blocks;
	made->store.columns.site = sites;
	made->store.columns.free_stack = NULL;
	return block_cache_create(&made->cache);
}

/* Frames and stacks are the common ones; what groups of blocks are called after is the side's. */
static struct err *take_tables(const struct diff_impl *impl, const struct recording *from,
			       struct recording *side)
{
	const struct recording_tables *joined = impl->joined->tables;
	struct recording_tables *made = side->tables;

	made->stacks = joined->stacks;
	shared_drop(side->pools);
	side->pools = shared_hold(from->pools);
	if (!vec_append(&made->modules.modules, &joined->modules.modules) ||
	    !vec_append(&made->frames.frames, &joined->frames.frames) ||
	    !vec_append(&made->threads, &from->tables->threads) ||
	    !vec_append(&made->memory, &from->tables->memory) ||
	    !vec_append(&made->marks, &from->tables->marks) ||
	    !vec_append(&made->switches, &from->tables->switches))
		return err_no_memory();
	return NULL;
}

/* Makes a recording of one side. Its sites are the common ones, with the side's sums. */
static struct err *make_side(struct diff_impl *impl, int number, const struct diff_side *side)
{
	const struct site_table *joined = &impl->joined->sites;
	const struct site *from = side->recording->sites.sites.items;
	struct site sum = {0};
	struct recording *made;
	struct err *err = recording_create(&impl->sides[number]);

	if (err)
		return err;
	made = impl->sides[number];
	made->facts = side->recording->facts;
	made->summary = side->recording->summary;
	scale_sum(&made->summary, side->scale);
	err = take_tables(impl, side->recording, made);
	if (err)
		return err;
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

	err = recording_create(&impl->joined);
	if (err)
		return err;
	impl->merge.into = impl->joined;
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
		err = symbolized_create_named(impl->joined, impl->merge.lines.items,
					      &diff->symbolized);
	if (err)
		return err;
	for (int i = 0; i < DIFF_SIDES; i++)
		diff->sides[i] = impl->sides[i];
	*ret = steal(&diff);
	return NULL;
}
