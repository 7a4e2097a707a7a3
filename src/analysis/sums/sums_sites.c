/*
 * Sums by sites, which a recording has already, but for slack and what was live at half of the run;
 * and from them those of all stacks that a function, frame, file, line or module is in.
 */
#include <stdlib.h>

#include "analysis/sites/sample_weight.h"
#include "analysis/sums/sums_data.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"
#include "hosted/vec.h"

/* Fewer blocks than this are not worth a thread, and the sums that it fills. */
#define PIECE_MIN ((uint64_t)1 << 18)

/* The sums of a site's blocks. */
struct rest {
	uint64_t slack, half; /* as in struct sums_row */
};

struct adding {
	const struct sums_job *job;
	uint64_t length; /* blocks of a piece */
	uint32_t sites;
	struct rest *rests; /* of each piece, for each site */
};

static void add_piece(void *argument, size_t number)
{
	const struct adding *adding = argument;
	const struct sums_job *job = adding->job;
	const struct block_columns blocks = *job->blocks;
	struct rest *rests = adding->rests + number * adding->sites;
	uint64_t begin = number * adding->length, end = begin + adding->length;
	uint64_t mean = job->sample_mean, half_ns = job->half_ns;

	if (end > blocks.count)
		end = blocks.count;
	for (uint64_t i = begin; i < end; i++) {
		uint64_t weight = mean ? sample_weight(mean, blocks.size[i], i + 1) : 1;
		struct rest *rest = &rests[blocks.site[i]];

		rest->slack += weight * blocks.slack[i];
		if (blocks.allocated_ns[i] <= half_ns && blocks.freed_ns[i] > half_ns)
			rest->half += weight * blocks.size[i];
	}
}

/* *ret: for each site, owned by the caller. */
static struct err *find_rests(const struct sums_job *job, uint32_t sites, struct rest **ret)
{
	size_t count = parallel_pieces(job->blocks->count, PIECE_MIN);
	auto_free struct rest *rests = calloc(count * sites + 1, sizeof(*rests));
	struct adding adding = {job, job->blocks->count / count + 1, sites, rests};

	if (!rests)
		return err_no_memory();
	parallel_run(add_piece, &adding, count);
	for (size_t i = sites; i < count * sites; i++) {
		rests[i % sites].slack += rests[i].slack;
		rests[i % sites].half += rests[i].half;
	}
	*ret = steal(&rests);
	return NULL;
}

/* The sums of single sites. */
struct site_rows {
	const struct site *sites;
	uint32_t count;
	const struct site_span *spans; /* NULL: not known */
	struct rest *rests;            /* owned; NULL: not known */
	struct sums *of_blocks;        /* those of some blocks, in the order of sites; else NULL */
	uint32_t at;                   /* the row of these that comes next */
	uint32_t number;               /* the site of `row` + 1; 0: none was asked for yet */
	struct sums_row row;
};

static void site_rows_deinit(struct site_rows *rows)
{
	free(rows->rests);
	sums_destroy(rows->of_blocks);
}

/* Takes what the recording knows of its sites. Several recordings as one have no lifetimes. */
static struct err *take_rows(const struct sums_job *job, struct site_rows *rows)
{
	struct err *err = NULL;

	rows->sites = recording_sites(job->recording, &rows->count);
	if (!job->query->brief && job->blocks->count)
		err = recording_site_spans(job->recording, &rows->spans);
	return err || !rows->spans ? err : find_rests(job, rows->count, &rows->rests);
}

/* Takes the sums of the site from those of some blocks. */
static void take_of_blocks(struct site_rows *rows, uint32_t site)
{
	const struct sums *of_blocks = rows->of_blocks;

	rows->row = (struct sums_row){0};
	while (rows->at < of_blocks->count && of_blocks->rows[rows->at].first < site)
		rows->at++;
	if (rows->at < of_blocks->count && of_blocks->rows[rows->at].first == site)
		rows->row = of_blocks->rows[rows->at];
}

static void take_span(struct sums_row *row, const struct site_span *span, const struct rest *rest)
{
	row->spans = span->blocks != 0;
	row->slack = rest->slack;
	row->half = rest->half;
	row->freed = span->freed;
	row->lives_ns = span->lives_ns;
	row->longest_ns = span->longest_life_ns;
	row->first_ns = span->first_ns;
	row->last_ns = span->last_ns;
}

/* The sums of a site, valid until the next call. Sites must be asked for in their order. */
static inline const struct sums_row *row_of_site(struct site_rows *rows, uint32_t site)
{
	if (rows->number == site + 1)
		return &rows->row;
	rows->number = site + 1;
	if (rows->of_blocks) {
		take_of_blocks(rows, site);
	} else {
		rows->row.sum = rows->sites[site];
		if (rows->spans)
			take_span(&rows->row, &rows->spans[site], &rows->rests[site]);
	}
	rows->row.sites = 1;
	return &rows->row;
}

struct err *sums_take_sites(const struct sums_job *job, struct sums *sums)
{
	const struct sums_query *query = job->query;
	cleanup(site_rows_deinit) struct site_rows rows = {0};
	struct err *err = take_rows(job, &rows);

	if (err)
		return err;
	for (uint32_t i = 0; i < job->rows; i++)
		sums->rows[i].sum.peak_bytes = sums->rows[i].sum.peak_blocks = 0;
	for (uint32_t i = 0; i < rows.count; i++) {
		uint32_t first = block_groups_of_site(query->first, i);
		uint32_t second = query->second ? block_groups_of_site(query->second, i) : 0;
		struct sums_row *row = &sums->rows[sums_row_of(job, first, second)];
		const struct sums_row *more = row_of_site(&rows, i);

		sums_row_add(row, more);
		if (row->sum.own_peak_bytes < more->sum.own_peak_bytes)
			row->sum.own_peak_bytes = more->sum.own_peak_bytes;
	}
	return NULL;
}

struct inclusive {
	struct site_rows sites;
	VEC(struct sums_row) rows;
	bool failed; /* no memory */
};

static void inclusive_deinit(struct inclusive *inclusive)
{
	site_rows_deinit(&inclusive->sites);
	vec_deinit(&inclusive->rows);
}

/* Makes rows up to that of the group. */
static bool make_row(struct inclusive *inclusive, uint32_t group)
{
	while (!inclusive->failed && inclusive->rows.count <= group) {
		struct sums_row empty = {.first = (uint32_t)inclusive->rows.count,
					 .second = RECORDING_NONE};

		inclusive->failed = !vec_push(&inclusive->rows, empty);
	}
	return !inclusive->failed;
}

/* As block_groups_member. */
static void add_member(void *argument, uint32_t group, uint32_t site)
{
	struct inclusive *inclusive = argument;
	const struct sums_row *more = row_of_site(&inclusive->sites, site);
	struct sums_row *row;

	if ((inclusive->rows.count <= group && !make_row(inclusive, group)) ||
	    sums_row_is_empty(more))
		return;
	row = &inclusive->rows.items[group];
	row->of_sites = row->sites != 0;
	row->sum.own_peak_bytes = row->of_sites ? 0 : more->sum.own_peak_bytes;
	sums_row_add(row, more);
}

/* Makes the sums of single sites, and what they come to together. */
static struct err *make_rows(const struct sums_job *job, struct site_rows *rows, struct sums *sums)
{
	struct err *err = job->query->bits
				  ? sums_create(job->recording, job->query, &rows->of_blocks)
				  : take_rows(job, rows);

	if (err)
		return err;
	sums->duration_ns = recording_facts(job->recording)->duration_ns;
	if (rows->of_blocks) {
		sums->all = rows->of_blocks->all;
		sums->peak_ns = rows->of_blocks->peak_ns;
		return NULL;
	}
	for (uint32_t i = 0; i < rows->count; i++)
		sums_row_add(&sums->all, row_of_site(rows, i));
	sums->peak_ns = recording_summary(job->recording)->peak_time_ns;
	return NULL;
}

struct err *sums_create_inclusive(const struct recording *recording, struct symbolized *symbolized,
				  const uint64_t *bits, enum block_groups_by by, struct sums **ret)
{
	const struct recording_facts *facts = recording_facts(recording);
	cleanup(inclusive_deinit) struct inclusive inclusive = {0};
	cleanup(sums_destroy_at) struct sums *sums = calloc(1, sizeof(*sums));
	struct block_groups sites = {0};
	struct sums_query query = {.bits = bits, .first = &sites};
	struct sums_job job = {
		.recording = recording,
		.blocks = recording_blocks(recording),
		.query = &query,
		.sample_mean = facts->sample_mean,
		.half_ns = facts->duration_ns / 2,
	};
	struct err *err = sums ? block_groups_create(recording, NULL, BLOCK_GROUPS_SITE, 0, &sites)
			       : err_no_memory();

	if (!err)
		err = make_rows(&job, &inclusive.sites, sums);
	if (!err)
		err = block_groups_create_inclusive(recording, symbolized, by, add_member,
						    &inclusive, &sums->groups);
	if (!err && inclusive.failed)
		err = err_no_memory();
	if (err)
		return err;
	sums->count = (uint32_t)inclusive.rows.count;
	sums->rows = steal(&inclusive.rows.items);
	sums_leave_out_empty(sums);
	*ret = steal(&sums);
	return NULL;
}
