/*
 * What a recording's blocks come to by one key or two, with all columns of a table. One key: a row
 * for each group of block_groups.h. Two keys: a row for each pair of groups that has blocks, so a
 * matrix without its empty cells. Each block is in one row, so a column of sums adds up to that of
 * `all`.
 *
 *	by function     Session::Session   7.66 MB   20,000 calls   …
 *	                Cache::put         4.16 MB   61,000 calls   …
 */
#ifndef MALLOW_ANALYSIS_SUMS_SUMS_H
#define MALLOW_ANALYSIS_SUMS_SUMS_H

#include "analysis/groups/block_groups.h"
#include "hosted/cleanup.h"

/* In a sample blocks count as what they stand for, but in what is said of lifetimes. */
struct sums_row {
	uint32_t first, second; /* the groups; RECORDING_NONE: not known, or there is no such key */
	/*
	 * As of a site that had all blocks of the row, but for the stack, which is not set. peak:
	 * what was live when all blocks that match had most live, so shares of the sums of `all`.
	 */
	struct site sum;
	uint64_t slack;             /* usable bytes beyond those asked for, of all */
	uint64_t freed;             /* blocks that were freed … */
	uint64_t lives_ns;          /* … the sum of their lifetimes, at most UINT64_MAX … */
	uint64_t longest_ns;        /* … and the longest of these */
	uint64_t first_ns, last_ns; /* when the first and the last block was allocated */
	uint64_t half;              /* bytes live at half of the run */
	uint32_t sites;             /* how many it is made of; 0: it is made of blocks */
	bool spans;                 /* it has blocks: the members from freed to last_ns are set */
	bool of_sites;              /* the sum of several sites, of which own_peak is not known */
};

/* Whether nothing was ever allocated in it. Imported sums may know no calls. */
static inline bool sums_row_is_empty(const struct sums_row *row)
{
	return !row->sum.calls && !row->sum.total_bytes && !row->sum.peak_bytes &&
	       !row->sum.leaked_bytes;
}

struct sums_query {
	const uint64_t *bits;                      /* which blocks count: block_bits.h; NULL: all */
	const struct block_groups *first, *second; /* the keys; second NULL: there is one */
	/* [0] for the empty stack, [node + 1] for a stack. Not 0: its leaks do not count. */
	const uint32_t *suppressed; /* NULL: all count, or sums of sites tell already */
	/*
	 * Only calls, total and leaked are wanted, and what sites know besides: blocks need not be
	 * taken in the order of events.
	 */
	bool brief;
};

struct chain_facts;

struct sums {
	struct sums_row *rows; /* in no order */
	uint32_t count;
	struct sums_row all;
	uint64_t peak_ns;           /* when most was live */
	uint64_t duration_ns;       /* of the run */
	struct block_groups groups; /* by sums_create_inclusive(): what rows are groups of */
};

/*
 * recording: opened with RECORDING_BLOCKS, unless sites tell the sums: without bits, by keys of
 * sites. Then only own peaks, slack, lifetimes and growth need blocks. Looks at each block twice,
 * with all processors. What CULL only counted is in no block: without bits it counts for sites and
 * what is made of them, and else is a row without keys. Errors: no memory, or too many pairs of two
 * keys.
 */
struct err *sums_create(const struct recording *recording, const struct sums_query *query,
			struct sums **ret);
/*
 * By a key of block_groups_are_frames(): a row has all blocks in whose stack it is, each once. So
 * blocks are in several rows, and columns do not add up. Rows are groups of sums->groups. bits: as
 * in struct sums_query; without them sums are those of sites, and blocks need not be there.
 */
struct err *sums_create_inclusive(const struct recording *recording, struct symbolized *symbolized,
				  const uint64_t *bits, enum block_groups_by by, struct sums **ret);

/* Accepts NULL. */
void sums_destroy(struct sums *sums);
CLEANUP_DEFINE(struct sums *, sums_destroy);

/* By how many bytes a second the row grew from half of the run to its end. */
int64_t sums_growth(const struct sums *sums, const struct sums_row *row);

/* The mean lifetime of the row's blocks that were freed; 0: none was. */
static inline uint64_t sums_mean_life(const struct sums_row *row)
{
	return row->freed ? row->lives_ns / row->freed : 0;
}

/* By what rows can be ordered. */
enum sums_order {
	SUMS_BYTES,
	SUMS_BLOCKS,
	SUMS_LEAKED,
	SUMS_TOTAL,
	SUMS_CALLS,
	SUMS_TEMPORARY,
	SUMS_SLACK,
	SUMS_OWN_PEAK,
	SUMS_LIFETIME, /* the mean one */
	SUMS_FIRST,
	SUMS_LAST,
	SUMS_GROWTH,
	SUMS_KEY, /* sizes, times and others that have an order; else by names */
};

/* The number that rows are ordered by; by growth and by key 0. */
uint64_t sums_number(enum sums_order order, const struct sums_row *row);

/*
 * Equal rows are sorted by their total, then by the order in which their keys were made. Descending
 * is the exact reverse of ascending.
 */
void sums_sort(struct sums *sums, const struct sums_query *query, enum sums_order order,
	       bool descending);

/*
 * Chains of reallocs (facts/chain_facts.h). ret[i]: the steps to those blocks (block_bits.h) that
 * are in groups[numbers[i]]; the caller owns it (free()). recording: opened with RECORDING_BLOCKS.
 * The only error: no memory.
 */
struct err *sums_chains(const struct recording *recording, const uint64_t *bits,
			const struct block_groups *groups, const uint32_t *numbers, uint32_t count,
			struct chain_facts **ret);

#endif
