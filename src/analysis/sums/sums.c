#include "analysis/sums/sums.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/blocks/block_temporary.h"
#include "analysis/sums/sums_data.h"
#include "hosted/cleanup.h"

void sums_destroy(struct sums *sums)
{
	if (!sums)
		return;
	free(sums->rows);
	if (sums->groups)
		block_groups_deinit(sums->groups);
	free(sums->groups);
	breakdown_destroy(sums->breakdown);
	free(sums);
}
CLEANUP_DEFINE(struct sums *, sums_destroy);

void sums_row_add(struct sums_row *row, const struct sums_row *later)
{
	row->total += later->total;
	row->calls += later->calls;
	row->temporary += later->temporary;
	row->leaked += later->leaked;
	if (!later->spans)
		return;
	if (!row->spans || later->first_ns < row->first_ns)
		row->first_ns = later->first_ns;
	if (!row->spans || later->last_ns > row->last_ns)
		row->last_ns = later->last_ns;
	row->spans = true;
	row->slack += later->slack;
	row->half += later->half;
	row->freed += later->freed;
	if (later->longest_ns > row->longest_ns)
		row->longest_ns = later->longest_ns;
	if (__builtin_add_overflow(row->lives_ns, later->lives_ns, &row->lives_ns))
		row->lives_ns = UINT64_MAX;
}

static bool is_of_sites(const struct sums_query *query)
{
	return !query->bits && block_groups_of_sites(query->first) &&
	       (!query->second || block_groups_of_sites(query->second));
}

/* Of sites alone own peaks are known, too. */
static bool knows_own_peaks(const struct sums_query *query)
{
	return is_of_sites(query) && query->first->by == BLOCK_GROUPS_SITE && !query->second;
}

static void add_up(struct sums *sums)
{
	struct sums_row *all = &sums->all;

	all->first = all->second = RECORDING_NONE;
	for (uint32_t i = 0; i < sums->count; i++) {
		const struct sums_row *row = &sums->rows[i];

		all->bytes += row->bytes;
		all->blocks += row->blocks;
		all->leaked += row->leaked;
		all->total += row->total;
		all->calls += row->calls;
		all->temporary += row->temporary;
		all->slack += row->slack;
		all->half += row->half;
	}
	all->own_peak = all->bytes;
}

/* Adds a row for what CULL only counted, if there is some that is in no row yet. */
static void add_culled(const struct recording *recording, struct sums *sums)
{
	const struct recording_summary *whole = recording_summary(recording);
	struct sums_row row = {
		.first = RECORDING_NONE,
		.second = RECORDING_NONE,
		.calls = whole->calls - sums->all.calls,
		.total = whole->total_bytes - sums->all.total,
		.temporary = whole->temporary - sums->all.temporary,
	};

	if (!row.calls)
		return;
	sums->rows[sums->count++] = row;
	sums->all.calls += row.calls;
	sums->all.total += row.total;
	sums->all.temporary += row.temporary;
}

void sums_leave_out_empty(struct sums *sums)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < sums->count; i++)
		if (sums->rows[i].calls)
			sums->rows[count++] = sums->rows[i];
	sums->count = count;
}

static struct err *fill(struct sums_job *job, struct sums *sums)
{
	struct err *err = sums_cells_find(job);

	if (err)
		return err;
	sums->count = job->rows;
	sums->rows = calloc((size_t)job->rows + 1, sizeof(*sums->rows));
	if (!sums->rows)
		return err_no_memory();
	if (!knows_own_peaks(job->query))
		err = sums_walk(job, sums);
	if (!err && job->of_sites)
		err = sums_take_sites(job, sums);
	if (err)
		return err;
	sums_cells_name(job, sums->rows);
	add_up(sums);
	if (!job->query->bits) {
		add_culled(job->recording, sums);
		sums->peak_ns = recording_summary(job->recording)->peak_time_ns;
	}
	sums_leave_out_empty(sums);
	return NULL;
}

struct err *sums_create(const struct recording *recording, const struct sums_query *query,
			struct sums **ret)
{
	const struct recording_facts *facts = recording_facts(recording);
	cleanup(sums_destroy_at) struct sums *sums = calloc(1, sizeof(*sums));
	auto_free uint64_t *temporary = NULL;
	struct sums_job job = {
		.recording = recording,
		.blocks = recording_blocks(recording),
		.query = query,
		.sample_mean = facts->sample_mean,
		.half_ns = facts->duration_ns / 2,
		.of_sites = is_of_sites(query),
	};
	struct err *err = NULL;

	if (!sums)
		return err_no_memory();
	sums->duration_ns = facts->duration_ns;
	if (!job.of_sites)
		err = block_temporary_find(recording, &temporary);
	if (err)
		return err;
	job.temporary = temporary;
	err = fill(&job, sums);
	sums_cells_deinit(&job.cells);
	if (!err)
		*ret = steal(&sums);
	return err;
}

int64_t sums_growth(const struct sums *sums, const struct sums_row *row)
{
	uint64_t ns = sums->duration_ns - sums->duration_ns / 2;
	__int128 grown = (__int128)row->leaked - row->half, each_second;

	// What has no blocks was not seen to grow.
	if (!ns || !row->spans)
		return 0;
	each_second = grown * 1000000000 / ns;
	if (each_second > INT64_MAX)
		return INT64_MAX;
	return each_second < INT64_MIN ? INT64_MIN : (int64_t)each_second;
}

struct sort {
	const struct sums *sums;
	const struct sums_query *query;
	enum sums_order order;
	bool descending;
};

uint64_t sums_number(enum sums_order order, const struct sums_row *row)
{
	switch (order) {
	case SUMS_BYTES:
		return row->bytes;
	case SUMS_BLOCKS:
		return row->blocks;
	case SUMS_LEAKED:
		return row->leaked;
	case SUMS_TOTAL:
		return row->total;
	case SUMS_CALLS:
		return row->calls;
	case SUMS_TEMPORARY:
		return row->temporary;
	case SUMS_SLACK:
		return row->slack;
	case SUMS_OWN_PEAK:
		return row->own_peak;
	case SUMS_LIFETIME:
		return sums_mean_life(row);
	case SUMS_FIRST:
		return row->first_ns;
	case SUMS_LAST:
		return row->last_ns;
	case SUMS_GROWTH:
	case SUMS_KEY:
		break;
	}
	return 0;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* What has no key comes last. */
static int compare_key(const struct block_groups *groups, uint32_t a, uint32_t b)
{
	int order = 0;

	if (groups && groups->names && a != RECORDING_NONE && b != RECORDING_NONE)
		order = strcmp(groups->names[a], groups->names[b]);
	return order ? order : compare_numbers(a, b);
}

static int compare_keys(const struct sums_query *query, const struct sums_row *a,
			const struct sums_row *b)
{
	int order = compare_key(query->first, a->first, b->first);

	return order ? order : compare_key(query->second, a->second, b->second);
}

static int compare(const void *left, const void *right, void *argument)
{
	const struct sums_row *a = left, *b = right;
	const struct sort *sort = argument;
	int order;

	if (sort->order == SUMS_KEY) {
		order = compare_keys(sort->query, a, b);
	} else if (sort->order == SUMS_GROWTH) {
		int64_t of_a = sums_growth(sort->sums, a), of_b = sums_growth(sort->sums, b);

		order = (of_a > of_b) - (of_a < of_b);
	} else {
		order = compare_numbers(sums_number(sort->order, a), sums_number(sort->order, b));
	}
	if (!order && sort->order != SUMS_KEY)
		order = compare_numbers(a->total, b->total);
	if (!order)
		order = compare_numbers(a->first, b->first);
	if (!order)
		order = compare_numbers(a->second, b->second);
	return sort->descending ? -order : order;
}

void sums_sort(struct sums *sums, const struct sums_query *query, enum sums_order order,
	       bool descending)
{
	struct sort sort = {sums, query, order, descending};

	if (sums->count)
		qsort_r(sums->rows, sums->count, sizeof(*sums->rows), compare, &sort);
}
