/* Sums by sites, which a recording has already, but for slack and what was live at half of the run.
 */
#include <stdlib.h>

#include "analysis/sites/sample_weight.h"
#include "analysis/sums/sums_data.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"

/* Fewer blocks than this are not worth a thread, and the sums that it fills. */
#define PIECE_MIN ((uint64_t)1 << 18)

/* Of the blocks of a site. */
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

static struct sums_row row_of_site(const struct site *site, const struct site_span *span,
				   const struct rest *rest)
{
	return (struct sums_row){
		.leaked = site->leaked_bytes,
		.total = site->total_bytes,
		.calls = site->calls,
		.temporary = site->temporary,
		.slack = rest->slack,
		.half = rest->half,
		.freed = span->freed,
		.lives_ns = span->lives_ns,
		.longest_ns = span->longest_life_ns,
		.first_ns = span->first_ns,
		.last_ns = span->last_ns,
		.spans = span->blocks != 0,
	};
}

struct err *sums_take_sites(const struct sums_job *job, struct sums *sums)
{
	const struct sums_query *query = job->query;
	static const struct site_span none;
	auto_free struct rest *rests = NULL;
	const struct site_span *spans;
	uint32_t count;
	const struct site *sites = recording_sites(job->recording, &count);
	struct err *err = recording_site_spans(job->recording, &spans);

	if (!err)
		err = find_rests(job, count, &rests);
	if (err)
		return err;
	for (uint32_t i = 0; i < job->rows; i++)
		sums->rows[i].bytes = sums->rows[i].blocks = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t first = block_groups_of_site(query->first, i);
		uint32_t second = query->second ? block_groups_of_site(query->second, i) : 0;
		struct sums_row *row = &sums->rows[sums_row_of(job, first, second)];
		// Several recordings as one have no blocks, so no lifetimes.
		const struct site_span *span = spans ? &spans[i] : &none;
		struct sums_row more = row_of_site(&sites[i], span, &rests[i]);

		sums_row_add(row, &more);
		row->bytes += sites[i].peak_bytes;
		row->blocks += sites[i].peak_blocks;
		if (row->own_peak < sites[i].own_peak_bytes)
			row->own_peak = sites[i].own_peak_bytes;
	}
	return NULL;
}
