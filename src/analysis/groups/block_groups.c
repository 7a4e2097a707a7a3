#include "analysis/groups/block_groups.h"

#include <stdlib.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/filter/filter_pools.h"
#include "analysis/groups/site_groups.h"
#include "base/first_where.h"
#include "base/wide.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "hosted/parallel.h"

/* Operations are numbers below this. */
#define ENTRIES (TRACE_OP_MASK + 1)

/* Fewer blocks than this are not worth a thread. */
#define PIECE_MIN ((uint64_t)1 << 16)

/* The last group that begins at that value or before. The first one begins at 0. */
static uint32_t find_bound(const struct block_groups *groups, uint64_t value)
{
	return first_where(i, 1, groups->count, groups->bounds[i] > value) - 1;
}

static uint32_t class_of_life(const struct block_groups *groups, uint64_t allocated, uint64_t freed)
{
	// The last group is what was never freed.
	if (freed == TIME_NEVER)
		return groups->count - 1;
	return (uint32_t)scale_class(&groups->scale, freed > allocated ? freed - allocated : 0);
}

/* The function that was called, whether it got a block or none. */
static uint32_t entry_of(uint8_t operation)
{
	if (operation == TRACE_OP_REALLOC)
		return TRACE_OP_REALLOC_NULL;
	return operation == TRACE_OP_REALLOCARRAY ? TRACE_OP_REALLOCARRAY_NULL
						  : operation % ENTRIES;
}

uint32_t block_groups_of_value(const struct block_groups *groups,
			       const struct block_columns *blocks, uint64_t i)
{
	uint32_t last = groups->count - 1;

	switch (groups->by) {
	case BLOCK_GROUPS_SIZE:
		return groups->bounds ? find_bound(groups, blocks->size[i])
				      : (uint32_t)scale_class(&groups->scale, blocks->size[i]);
	case BLOCK_GROUPS_LIFETIME:
		return class_of_life(groups, blocks->allocated_ns[i], blocks->freed_ns[i]);
	case BLOCK_GROUPS_TIME:
	case BLOCK_GROUPS_MARK:
		return find_bound(groups, blocks->allocated_ns[i]);
	case BLOCK_GROUPS_TAG:
		return find_bound(groups, blocks->tag[i]);
	case BLOCK_GROUPS_FREE_THREAD:
		return blocks->free_thread[i] < last ? blocks->free_thread[i] : last;
	case BLOCK_GROUPS_ENTRY:
		return entry_of(blocks->entry[i]);
	default:
		return 0;
	}
}

/* Where the parts of the run begin: one nanosecond after the part before ends, which is inclusive.
 */
static struct err *make_times(const struct recording *recording, struct block_groups *groups)
{
	uint64_t run = recording_facts(recording)->duration_ns, end = 0;

	groups->bounds = calloc(BLOCK_GROUPS_TIMES, sizeof(*groups->bounds));
	if (!groups->bounds)
		return err_no_memory();
	for (uint32_t i = 1; i < BLOCK_GROUPS_TIMES; i++) {
		wide_scale(run, i, BLOCK_GROUPS_TIMES, &end); // less than the run
		groups->bounds[i] = end + 1;
	}
	groups->count = BLOCK_GROUPS_TIMES;
	return NULL;
}

/* The first group is what comes before all marks. */
static struct err *make_marks(const struct recording *recording, struct block_groups *groups)
{
	uint32_t count;
	const struct recorded_mark *marks = recording_marks(recording, &count);

	if (!count)
		return err_create("the recording has no marks");
	groups->bounds = calloc((size_t)count + 1, sizeof(*groups->bounds));
	groups->marks = calloc((size_t)count + 1, sizeof(*groups->marks));
	if (!groups->bounds || !groups->marks)
		return err_no_memory();
	groups->marks[0] = "[start]";
	for (uint32_t i = 0; i < count; i++) {
		groups->bounds[i + 1] = marks[i].time_ns;
		groups->marks[i + 1] = marks[i].name;
	}
	groups->count = count + 1;
	return NULL;
}

static int compare_numbers(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Makes a group of each of these values, in their order. */
static struct err *take_bounds(const struct map *values, struct block_groups *groups)
{
	groups->bounds = malloc(values->count * sizeof(*groups->bounds));
	if (!groups->bounds)
		return err_no_memory();
	for (size_t i = 0; i < map_size(values); i++)
		if (values->entries[i].value != MAP_NONE)
			groups->bounds[groups->count++] = values->entries[i].key;
	qsort(groups->bounds, groups->count, sizeof(*groups->bounds), compare_numbers);
	return NULL;
}

/* Tag 0 is a group even if no block has it, so that the first group begins at 0. */
static struct err *make_tags(const struct recording *recording, struct block_groups *groups)
{
	const struct block_columns *blocks = recording_blocks(recording);
	cleanup(map_deinit) struct map tags = {0};
	uint64_t *place = map_put(&tags, 0);
	uint32_t latest = 0;

	if (!blocks->tag)
		return err_create("the recording has no tags");
	for (uint64_t i = 0; place && i < blocks->count; i++) {
		*place = 0;
		// A thread keeps its tag for many blocks.
		if (blocks->tag[i] != latest)
			place = map_put(&tags, latest = blocks->tag[i]);
	}
	if (!place)
		return err_no_memory();
	*place = 0;
	return take_bounds(&tags, groups);
}

struct finding_pools {
	const struct filter_pool *all;
	const struct block_columns *blocks;
	uint32_t *column, none;
	uint64_t length; /* blocks of a piece */
};

static void find_pools(void *argument, size_t number)
{
	const struct finding_pools *finding = argument;
	uint64_t begin = number * finding->length, end = begin + finding->length;

	if (end > finding->blocks->count)
		end = finding->blocks->count;
	for (uint64_t i = begin; i < end; i++) {
		const struct pool_birth *birth = filter_pool_find(finding->all, finding->blocks, i);

		finding->column[i] = birth ? (uint32_t)birth->pool : finding->none;
	}
}

/* The last group is what no pool handed out memory of. */
static struct err *make_pools(const struct recording *recording, struct block_groups *groups)
{
	cleanup(filter_pool_deinit) struct filter_pool all = {0};
	const struct block_columns *blocks = recording_blocks(recording);
	size_t count = parallel_pieces(blocks->count, PIECE_MIN);
	struct finding_pools finding = {&all, blocks, NULL, 0, blocks->count / count + 1};
	struct err *err;

	recording_pools(recording, &finding.none);
	if (!finding.none)
		return err_create("the recording has no pools");
	err = filter_pool_create(recording, NULL, &all);
	if (err)
		return err;
	finding.column = malloc((blocks->count + 1) * sizeof(*finding.column));
	if (!finding.column)
		return err_no_memory();
	parallel_run(find_pools, &finding, count);
	groups->column = groups->made_column = finding.column;
	groups->count = finding.none + 1;
	return NULL;
}

static struct err *make(const struct recording *recording, struct symbolized *symbolized,
			struct block_groups *groups)
{
	const struct block_columns *blocks = recording_blocks(recording);

	switch (groups->by) {
	case BLOCK_GROUPS_FATE:
		groups->count = FATE_COUNT;
		return NULL;
	case BLOCK_GROUPS_SITE:
		groups->column = blocks->site;
		recording_sites(recording, &groups->count);
		return NULL;
	case BLOCK_GROUPS_THREAD:
		groups->column = blocks->thread;
		recording_threads(recording, &groups->count);
		return NULL;
	case BLOCK_GROUPS_FREE_THREAD:
		// The last group is what no thread freed.
		recording_threads(recording, &groups->count);
		groups->count++;
		return NULL;
	case BLOCK_GROUPS_SIZE:
		scale_of_sizes(&groups->scale);
		groups->count = (uint32_t)groups->scale.count;
		return NULL;
	case BLOCK_GROUPS_LIFETIME:
		scale_of_times(&groups->scale);
		groups->count = (uint32_t)groups->scale.count + 1;
		return NULL;
	case BLOCK_GROUPS_TIME:
		return make_times(recording, groups);
	case BLOCK_GROUPS_MARK:
		return make_marks(recording, groups);
	case BLOCK_GROUPS_TAG:
		return make_tags(recording, groups);
	case BLOCK_GROUPS_POOL:
		return make_pools(recording, groups);
	case BLOCK_GROUPS_ENTRY:
		groups->count = ENTRIES;
		return NULL;
	default:
		return site_groups_create(recording, symbolized, false, NULL, NULL, groups);
	}
}

struct err *block_groups_create(const struct recording *recording, struct symbolized *symbolized,
				enum block_groups_by by, uint64_t late_ns, struct block_groups *ret)
{
	cleanup(block_groups_deinit) struct block_groups groups = {
		.by = by, .late_ns = late_ns, .recording = recording};
	struct err *err = make(recording, symbolized, &groups);

	if (err)
		return err;
	*ret = groups;
	groups = (struct block_groups){0};
	return NULL;
}

struct err *block_groups_create_inclusive(const struct recording *recording,
					  struct symbolized *symbolized, enum block_groups_by by,
					  block_groups_member *member, void *argument,
					  struct block_groups *ret)
{
	cleanup(block_groups_deinit) struct block_groups groups = {.by = by,
								   .recording = recording};
	struct err *err =
		site_groups_create(recording, symbolized, true, member, argument, &groups);

	if (err)
		return err;
	*ret = groups;
	groups = (struct block_groups){0};
	return NULL;
}

struct err *block_groups_create_sizes(const struct recording *recording, const uint64_t *bits,
				      uint32_t most, struct block_groups *ret)
{
	cleanup(block_groups_deinit) struct block_groups groups = {.by = BLOCK_GROUPS_SIZE,
								   .recording = recording};
	const struct block_columns *blocks = recording_blocks(recording);
	cleanup(map_deinit) struct map sizes = {0};
	struct err *err;

	for (uint64_t i = block_bits_next(bits, blocks->count, 0);
	     i < blocks->count && sizes.count <= most;
	     i = block_bits_next(bits, blocks->count, i + 1)) {
		uint64_t *place = map_put(&sizes, blocks->size[i]);

		if (!place)
			return err_no_memory();
		*place = 0;
	}
	err = sizes.count && sizes.count <= most ? take_bounds(&sizes, &groups)
						 : make(recording, NULL, &groups);
	if (err)
		return err;
	*ret = groups;
	groups = (struct block_groups){0};
	return NULL;
}

const char *block_groups_word(enum block_groups_by by)
{
	static const char *const words[] = {
#define BLOCK_GROUPS(NAME, name) name,
#include "analysis/groups/block_groups.def"
#undef BLOCK_GROUPS
	};

	return words[by];
}

void block_groups_deinit(struct block_groups *groups)
{
	free(groups->group_of);
	free(groups->names);
	free(groups->frames);
	free(groups->calls);
	free(groups->bounds);
	free(groups->marks);
	free(groups->made_column);
	intern_deinit(&groups->intern);
	*groups = (struct block_groups){0};
}

static bool range_of_class(const struct block_groups *groups, uint32_t group, uint64_t *least,
			   uint64_t *largest)
{
	if (group >= groups->scale.count)
		return false;
	*least = scale_lowest(&groups->scale, group);
	*largest = groups->scale.highest[group];
	return true;
}

bool block_groups_range(const struct block_groups *groups, uint32_t group, uint64_t *least,
			uint64_t *largest)
{
	bool last = group + 1 == groups->count;

	if (groups->scale.count)
		return range_of_class(groups, group, least, largest);
	switch (groups->by) {
	case BLOCK_GROUPS_TIME:
	case BLOCK_GROUPS_MARK:
		*least = groups->bounds[group];
		*largest = last ? recording_facts(groups->recording)->duration_ns
				: groups->bounds[group + 1] - 1;
		return true;
	case BLOCK_GROUPS_SIZE:
	case BLOCK_GROUPS_TAG:
		*least = *largest = groups->bounds[group];
		return true;
	default:
		return false;
	}
}
