/* Breakdowns by thread and by size, made from blocks. */
#include <assert.h>

#include "analysis/breakdown/breakdown_data.h"
#include "analysis/breakdown/scale.h"
#include "analysis/filter/filtered.h"
#include "analysis/recording_data.h"
#include "analysis/sites/sample_weight.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "hosted/parallel.h"

#define EXACT_SIZES 32                  /* if there are more different sizes, classes are shown */
#define PIECE       (UINT64_C(1) << 20) /* how many blocks a thread classifies at a time */

CLEANUP_DEFINE(struct recording *, recording_close);

/* Which class each block is in. Blocks that are not shown may be in any class. */
struct classes {
	const uint32_t *of;
	uint32_t *owned; /* NULL: `of` belongs to the recording */
	uint32_t count;
	struct map sizes; /* from size to class, if there are few sizes */
	struct scale scale;
	const struct block_columns *blocks;
};

static void classes_deinit(struct classes *classes)
{
	free(classes->owned);
	map_deinit(&classes->sizes);
}

/*
 * Sums up the classes in the way in which sites are: by a copy of the recording in which a block's
 * site is its class. Rows are in the order of their first blocks.
 */
static struct err *sum_up(const struct seen_blocks *seen, const struct classes *classes,
			  struct recording **ret)
{
	struct recording other = *seen->recording;
	auto_free struct site *sites = calloc((size_t)classes->count + 1, sizeof(*sites));

	if (!sites)
		return err_no_memory();
	for (uint32_t i = 0; i < classes->count; i++)
		sites[i].stack = i;
	other.blocks.columns.site = classes->of;
	other.sites = (struct site_table){.sites = {sites, classes->count, classes->count}};
	return filtered_create(&other, seen->match, ret);
}

static bool is_seen(const struct filter_match *match, uint64_t block)
{
	return match->words[block / 64] >> block % 64 & 1;
}

/* Numbers the different sizes. *few: there are some, and at most EXACT_SIZES. */
static struct err *find_sizes(const struct seen_blocks *seen, struct map *sizes, bool *few)
{
	const struct block_columns *blocks = recording_blocks(seen->recording);

	*few = true;
	for (uint64_t i = 0; *few && i < blocks->count; i++) {
		uint64_t *class;

		if (!is_seen(seen->match, i))
			continue;
		class = map_put(sizes, blocks->size[i]);
		if (!class)
			return err_no_memory();
		if (*class == MAP_NONE)
			*class = sizes->count - 1;
		*few = sizes->count <= EXACT_SIZES;
	}
	*few &= sizes->count != 0;
	return NULL;
}

static void class_piece(void *argument, size_t number)
{
	struct classes *classes = argument;
	const struct block_columns *blocks = classes->blocks;
	uint64_t end = (number + 1) * PIECE < blocks->count ? (number + 1) * PIECE : blocks->count;

	for (uint64_t i = number * PIECE; i < end; i++) {
		uint64_t class = classes->sizes.count
					 ? map_get(&classes->sizes, blocks->size[i])
					 : scale_class(&classes->scale, blocks->size[i]);

		classes->owned[i] = class == MAP_NONE ? 0 : (uint32_t) class;
	}
}

static struct err *classes_of_sizes(const struct seen_blocks *seen, struct classes *classes)
{
	struct err *err;
	bool few;

	classes->blocks = recording_blocks(seen->recording);
	classes->owned = malloc((classes->blocks->count + 1) * sizeof(*classes->owned));
	if (!classes->owned)
		return err_no_memory();
	err = find_sizes(seen, &classes->sizes, &few);
	if (err)
		return err;
	if (!few)
		map_deinit(&classes->sizes);
	classes->sizes = few ? classes->sizes : (struct map){0};
	scale_of_sizes(&classes->scale);
	classes->count = few ? EXACT_SIZES : (uint32_t)classes->scale.count;
	parallel_run(class_piece, classes, (classes->blocks->count + PIECE - 1) / PIECE);
	classes->of = classes->owned;
	return NULL;
}

/* Sets the sizes of each row. */
static void name_sizes(const struct classes *classes, struct breakdown_row *rows, size_t count,
		       const uint32_t *row_of)
{
	for (size_t i = 0; i < map_size(&classes->sizes); i++) {
		const struct map_entry *entry = &classes->sizes.entries[i];
		uint32_t row = entry->value == MAP_NONE ? 0 : row_of[entry->value];

		if (row)
			rows[row - 1].smallest = rows[row - 1].largest = entry->key;
	}
	if (classes->sizes.count)
		return;
	for (size_t i = 0; i < classes->scale.count && count; i++) {
		struct breakdown_row *row = row_of[i] ? &rows[row_of[i] - 1] : NULL;

		if (!row)
			continue;
		row->smallest = scale_lowest(&classes->scale, i);
		row->largest = classes->scale.highest[i];
	}
}

/* Subtracts what leaked by suppressed stacks from the sums of their classes. */
static void leave_out_suppressed(const struct seen_blocks *seen, const struct classes *classes,
				 struct breakdown_row *rows, const uint32_t *row_of)
{
	const struct block_columns *blocks = recording_blocks(seen->recording);
	uint64_t mean = recording_facts(seen->recording)->sample_mean;
	uint32_t unused;
	const struct site *sites = recording_sites(seen->recording, &unused);

	assert(classes->of || !blocks->count);
	for (uint64_t i = 0; i < blocks->count; i++) {
		uint64_t weight = 1;
		struct site *sum;

		if (blocks->freed_ns[i] != TIME_NEVER || !is_seen(seen->match, i) ||
		    !seen->suppressed[(uint32_t)(sites[blocks->site[i]].stack + 1)])
			continue;
		if (mean)
			weight = sample_weight(mean, blocks->size[i], i + 1);
		sum = &rows[row_of[classes->of[i]] - 1].own;
		sum->leaked_blocks -= weight;
		sum->leaked_bytes -= weight * blocks->size[i];
	}
}

/*
 * Adds a row for what CULL only counted, which has no blocks: what the recording's sums have beyond
 * those of the rows.
 */
static struct err *add_culled(struct breakdown_impl *impl, const struct recording *recording)
{
	const struct recording_summary *whole = recording_summary(recording);
	struct breakdown_row row = {.culled = true};
	struct site sum = {0};

	for (size_t i = 0; i < impl->rows.count; i++)
		breakdown_add(&sum, &impl->rows.items[i].own);
	row.own.calls = whole->calls - sum.calls;
	row.own.total_bytes = whole->total_bytes - sum.total_bytes;
	row.own.temporary = whole->temporary - sum.temporary;
	return !row.own.calls || vec_push(&impl->rows, row) ? NULL : err_no_memory();
}

static struct err *add_rows(struct breakdown_impl *impl, const struct recording *recording,
			    const struct seen_blocks *seen, const struct classes *classes)
{
	cleanup(recording_close_at) struct recording *sums = NULL;
	auto_free uint32_t *row_of = calloc((size_t)classes->count + 1, sizeof(*row_of));
	const struct recorded_thread *threads;
	const struct site *sites;
	uint32_t count, thread_count;
	struct err *err;

	if (!row_of)
		return err_no_memory();
	err = sum_up(seen, classes, &sums);
	if (err)
		return err;
	sites = recording_sites(sums, &count);
	threads = recording_threads(recording, &thread_count);
	if (!vec_reserve(&impl->rows, (size_t)count + 1))
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++) {
		struct breakdown_row row = {.own = sites[i], .own_peak_known = true};

		if (impl->breakdown.by == BREAKDOWN_THREAD)
			row.thread = &threads[sites[i].stack];
		row_of[sites[i].stack] = i + 1;
		impl->rows.items[impl->rows.count++] = row;
	}
	if (impl->breakdown.by == BREAKDOWN_SIZE)
		name_sizes(classes, impl->rows.items, count, row_of);
	if (seen->suppressed)
		leave_out_suppressed(seen, classes, impl->rows.items, row_of);
	return recording_facts(recording)->filtered ? NULL : add_culled(impl, recording);
}

struct err *breakdown_from_blocks(struct breakdown_impl *impl, const struct recording *recording,
				  const struct seen_blocks *seen)
{
	cleanup(classes_deinit) struct classes classes = {0};
	struct err *err = NULL;

	if (impl->breakdown.by == BREAKDOWN_SIZE) {
		err = classes_of_sizes(seen, &classes);
	} else {
		classes.of = recording_blocks(seen->recording)->thread;
		recording_threads(seen->recording, &classes.count);
	}
	return err ? err : add_rows(impl, recording, seen, &classes);
}
