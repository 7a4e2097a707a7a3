/* The inside of sums.h: what its parts share. */
#ifndef MALLOW_ANALYSIS_SUMS_SUMS_DATA_H
#define MALLOW_ANALYSIS_SUMS_SUMS_DATA_H

#include "analysis/sites/metric.h"
#include "analysis/sums/sums.h"

/*
 * Numbers the pairs of two keys that have blocks, in the order of the keys. All pairs are a matrix
 * of bits; a pair's number is how many bits are set before its own.
 */
struct sums_cells {
	struct cell_word {
		uint64_t bits;
		uint64_t before; /* how many are set in the words before */
	} * words;               /* NULL: there is one key, and its groups are the rows */
	uint64_t word_count;
};

struct sums_job {
	const struct recording *recording;
	const struct block_columns *blocks;
	const struct sums_query *query;
	const struct site *sites;
	struct sums_cells cells;
	uint32_t rows;
	const uint64_t *temporary; /* a bit for each block: block_temporary.h; NULL: not wanted */
	uint64_t sample_mean;      /* 0: each block counts once */
	uint64_t half_ns;          /* half of the run */
	/* Sites tell the sums of all rows: sums_take_sites(). They are the numbers of reports. */
	bool of_sites;
};

/* The most pairs that there may be. Each takes two bits. */
#define SUMS_PAIRS_MAX ((uint64_t)1 << 28)

/* The row of a pair of groups; second: 0 if there is one key. The pair must have a row. */
static inline uint32_t sums_row_of(const struct sums_job *job, uint32_t first, uint32_t second)
{
	const struct cell_word *word;
	uint64_t pair;

	if (!job->cells.words)
		return first;
	pair = (uint64_t)first * job->query->second->count + second;
	word = &job->cells.words[pair / 64];
	return (uint32_t)(word->before + (uint64_t)__builtin_popcountll(
						 word->bits & ((UINT64_C(1) << pair % 64) - 1)));
}

static inline uint32_t sums_row_of_block(const struct sums_job *job, uint64_t i)
{
	const struct sums_query *query = job->query;

	return sums_row_of(job, block_groups_of(query->first, job->blocks, i),
			   query->second ? block_groups_of(query->second, job->blocks, i) : 0);
}

/* The part of sums_row_add() that only rows with blocks need. */
void sums_row_add_spans(struct sums_row *row, const struct sums_row *later);

/* Adds the later row, but for its keys and own peak. */
static inline void sums_row_add(struct sums_row *row, const struct sums_row *later)
{
	metric_add_site(&row->sum, &later->sum);
	row->sites += later->sites;
	if (later->spans)
		sums_row_add_spans(row, later);
}

/* Drops the rows without allocations. */
void sums_leave_out_empty(struct sums *sums);

/*
 * Fills the rows, which are zeroed, and when most was live, by the blocks in the order of events.
 * Keys are not set. If sites tell the sums: only own peaks, and what is live at the peak.
 */
struct err *sums_walk(const struct sums_job *job, struct sums *sums);

/*
 * Fills all but keys and own peaks by sites, if these tell the sums. They have what was culled,
 * too, and those of a live table have peaks. Own peaks are at least those of single sites.
 */
struct err *sums_take_sites(const struct sums_job *job, struct sums *sums);

#endif
