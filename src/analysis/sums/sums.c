#include "analysis/sums/sums.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/blocks/block_temporary.h"
#include "analysis/facts/chain_facts.h"
#include "analysis/sites/sample_weight.h"
#include "analysis/sums/sums_data.h"
#include "base/wide.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"

/* Fewer blocks than this are not worth a thread. */
#define PIECE_MIN ((uint64_t)1 << 18)

void sums_destroy(struct sums *sums)
{
	if (!sums)
		return;
	free(sums->rows);
	block_groups_deinit(&sums->groups);
	free(sums);
}

void sums_row_add_spans(struct sums_row *row, const struct sums_row *later)
{
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

/* Only a table of sites knows the peak of each row. */
static bool knows_own_peaks(const struct sums_query *query)
{
	return is_of_sites(query) && query->first->by == BLOCK_GROUPS_SITE && !query->second;
}

static void cells_deinit(struct sums_cells *cells)
{
	free(cells->words);
	*cells = (struct sums_cells){0};
}

struct marking {
	const struct sums_job *job;
	uint64_t length; /* blocks of a piece */
};

/* Threads write the same words, but mostly a bit is set already. */
static void mark(const struct sums_job *job, uint32_t first, uint32_t second)
{
	uint64_t pair = (uint64_t)first * job->query->second->count + second;
	uint64_t *bits = &job->cells.words[pair / 64].bits, bit = UINT64_C(1) << pair % 64;

	if (!(__atomic_load_n(bits, __ATOMIC_RELAXED) & bit))
		__atomic_fetch_or(bits, bit, __ATOMIC_RELAXED);
}

static void mark_piece(void *argument, size_t number)
{
	const struct marking *marking = argument;
	const struct sums_job *job = marking->job;
	const struct block_columns *blocks = job->blocks;
	const struct sums_query *query = job->query;
	uint64_t begin = number * marking->length, end = begin + marking->length;

	if (end > blocks->count)
		end = blocks->count;
	for (uint64_t i = block_bits_next(query->bits, end, begin); i < end;
	     i = block_bits_next(query->bits, end, i + 1))
		mark(job, block_groups_of(query->first, blocks, i),
		     block_groups_of(query->second, blocks, i));
}

/* A site may have allocations without blocks: those that CULL only counted. */
static void mark_sites(const struct sums_job *job)
{
	const struct sums_query *query = job->query;
	uint32_t count;

	recording_sites(job->recording, &count);
	for (uint32_t i = 0; i < count; i++)
		mark(job, block_groups_of_site(query->first, i),
		     block_groups_of_site(query->second, i));
}

static struct err *find_cells(struct sums_job *job)
{
	const struct sums_query *query = job->query;
	size_t count = parallel_pieces(job->blocks->count, PIECE_MIN);
	struct marking marking = {job, (job->blocks->count / count / 64 + 1) * 64};
	uint64_t pairs, before = 0;

	job->rows = query->first->count;
	if (!query->second)
		return NULL;
	pairs = (uint64_t)query->first->count * query->second->count;
	if (pairs > SUMS_PAIRS_MAX)
		return err_create("%u keys and %u keys make too many pairs, more than %ju: take "
				  "others",
				  query->first->count, query->second->count,
				  (uintmax_t)SUMS_PAIRS_MAX);
	job->cells.word_count = pairs / 64 + 1;
	job->cells.words = calloc(job->cells.word_count, sizeof(*job->cells.words));
	if (!job->cells.words)
		return err_no_memory();
	parallel_run(mark_piece, &marking, count);
	if (!query->bits && block_groups_of_sites(query->first) &&
	    block_groups_of_sites(query->second))
		mark_sites(job);
	for (uint64_t i = 0; i < job->cells.word_count; i++) {
		job->cells.words[i].before = before;
		before += (uint64_t)__builtin_popcountll(job->cells.words[i].bits);
	}
	job->rows = (uint32_t)before;
	return NULL;
}

static void name_cells(const struct sums_job *job, struct sums_row *rows)
{
	uint32_t number = 0;

	for (; !job->cells.words && number < job->rows; number++) {
		rows[number].first = number;
		rows[number].second = RECORDING_NONE;
	}
	for (uint64_t i = 0; i < job->cells.word_count; i++) {
		for (uint64_t bits = job->cells.words[i].bits; bits; bits &= bits - 1) {
			uint64_t pair = i * 64 + (uint64_t)__builtin_ctzll(bits);
			uint32_t count = job->query->second->count;

			rows[number].first = (uint32_t)(pair / count);
			rows[number++].second = (uint32_t)(pair % count);
		}
	}
}

void sums_leave_out_empty(struct sums *sums)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < sums->count; i++)
		if (!sums_row_is_empty(&sums->rows[i]))
			sums->rows[count++] = sums->rows[i];
	sums->count = count;
}

/* Adds a row for what CULL only counted, if there is some that is in no row yet. */
static void add_culled(const struct recording *recording, struct sums *sums)
{
	const struct recording_summary *whole = recording_summary(recording);
	const struct site *all = &sums->all.sum;
	struct sums_row row = {.first = RECORDING_NONE, .second = RECORDING_NONE};

	row.sum.calls = whole->calls - all->calls;
	row.sum.total_bytes = whole->total_bytes - all->total_bytes;
	row.sum.temporary = whole->temporary - all->temporary;
	if (!row.sum.calls)
		return;
	sums_row_add(&sums->all, &row);
	sums->rows[sums->count++] = row;
}

/* Adds up the rows, and drops those without allocations. */
static void finish(const struct sums_job *job, struct sums *sums)
{
	sums->all.first = sums->all.second = RECORDING_NONE;
	for (uint32_t i = 0; i < sums->count; i++)
		sums_row_add(&sums->all, &sums->rows[i]);
	sums->all.sum.own_peak_bytes = sums->all.sum.peak_bytes;
	if (!job->query->bits) {
		add_culled(job->recording, sums);
		sums->peak_ns = recording_summary(job->recording)->peak_time_ns;
	}
	sums_leave_out_empty(sums);
}

static struct err *fill(struct sums_job *job, struct sums *sums)
{
	struct err *err = find_cells(job);

	if (err)
		return err;
	sums->count = job->rows;
	sums->rows = calloc((size_t)job->rows + 1, sizeof(*sums->rows));
	if (!sums->rows)
		return err_no_memory();
	if (!job->of_sites || !(job->query->brief || knows_own_peaks(job->query)))
		err = sums_walk(job, sums);
	if (!err && job->of_sites)
		err = sums_take_sites(job, sums);
	if (err)
		return err;
	name_cells(job, sums->rows);
	finish(job, sums);
	return NULL;
}

struct err *sums_create(const struct recording *recording, const struct sums_query *query,
			struct sums **ret)
{
	const struct recording_facts *facts = recording_facts(recording);
	cleanup(sums_destroy_at) struct sums *sums = calloc(1, sizeof(*sums));
	auto_free uint64_t *temporary = NULL;
	uint32_t site_count;
	struct sums_job job = {
		.recording = recording,
		.blocks = recording_blocks(recording),
		.query = query,
		.sites = recording_sites(recording, &site_count),
		.sample_mean = facts->sample_mean,
		.half_ns = facts->duration_ns / 2,
		.of_sites = is_of_sites(query),
	};
	struct err *err = NULL;

	if (!sums)
		return err_no_memory();
	sums->duration_ns = facts->duration_ns;
	if (!job.of_sites && !query->brief)
		err = block_temporary_find(recording, &temporary);
	if (err)
		return err;
	job.temporary = temporary;
	err = fill(&job, sums);
	cells_deinit(&job.cells);
	if (!err)
		*ret = steal(&sums);
	return err;
}

int64_t sums_growth(const struct sums *sums, const struct sums_row *row)
{
	uint64_t ns = sums->duration_ns - sums->duration_ns / 2;
	bool grown = row->sum.leaked_bytes >= row->half;
	uint64_t bytes =
		grown ? row->sum.leaked_bytes - row->half : row->half - row->sum.leaked_bytes;
	uint64_t each_second;

	// What has no blocks was not seen to grow.
	if (!ns || !row->spans)
		return 0;
	if (!wide_scale(bytes, 1000000000, ns, &each_second) || each_second > INT64_MAX)
		return grown ? INT64_MAX : INT64_MIN;
	return grown ? (int64_t)each_second : -(int64_t)each_second;
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
		return row->sum.peak_bytes;
	case SUMS_BLOCKS:
		return row->sum.peak_blocks;
	case SUMS_LEAKED:
		return row->sum.leaked_bytes;
	case SUMS_TOTAL:
		return row->sum.total_bytes;
	case SUMS_CALLS:
		return row->sum.calls;
	case SUMS_TEMPORARY:
		return row->sum.temporary;
	case SUMS_SLACK:
		return row->slack;
	case SUMS_OWN_PEAK:
		return row->sum.own_peak_bytes;
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
		order = compare_numbers(a->sum.total_bytes, b->sum.total_bytes);
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

struct err *sums_chains(const struct recording *recording, const uint64_t *bits,
			const struct block_groups *groups, const uint32_t *numbers, uint32_t count,
			struct chain_facts **ret)
{
	const struct block_columns *blocks = recording_blocks(recording);
	uint64_t mean = recording_facts(recording)->sample_mean;
	auto_free struct chain_facts *chains = calloc((size_t)count + 1, sizeof(*chains));
	auto_free uint32_t *chain_of = malloc(((size_t)groups->count + 1) * sizeof(*chain_of));

	if (!chains || !chain_of)
		return err_no_memory();
	for (uint32_t i = 0; i < groups->count; i++)
		chain_of[i] = count;
	for (uint32_t i = 0; i < count; i++)
		chain_of[numbers[i]] = i;
	for (uint64_t i = 0; i < blocks->count; i++) {
		uint32_t to = blocks->successor[i], chain;

		if (to == RECORDING_NONE || !block_bits_has(bits, to))
			continue;
		chain = chain_of[block_groups_of(groups, blocks, to)];
		if (chain < count)
			chain_facts_add(&chains[chain], blocks, i,
					mean ? sample_weight(mean, blocks->size[i], i + 1) : 1);
	}
	*ret = steal(&chains);
	return NULL;
}
