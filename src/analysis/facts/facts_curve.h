/*
 * The curve of a whole run, noted while events are read: what begins and ends in each cell of time,
 * by how long it lived. facts_walk.h has the cells; series_stored.h makes a series of it.
 *
 * A block that lived for a tenth of the run or longer was freed late. As long as the run goes on,
 * only blocks that lived for less than a tenth of it so far are surely none. The others are counted
 * by the cell in which they began and that in which they ended, and judged at the end.
 */
#ifndef MALLOW_ANALYSIS_FACTS_FACTS_CURVE_H
#define MALLOW_ANALYSIS_FACTS_FACTS_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"

#define FACTS_CELLS      1024u
#define FACTS_CURVE_LATE 10u /* the tenth part */

/* What begins and ends in a cell, or in a step of a series. */
struct curve_flow {
	uint64_t allocated_bytes, allocated_blocks, freed_bytes, freed_blocks;
};

struct curve_pair {
	uint64_t bytes, blocks;
};

struct facts_curve {
	uint64_t slack; /* usable bytes beyond those asked for, of all live blocks */
	/* Of each cell: the most that was live in it, its begin included; slack at its end. */
	uint64_t most[FACTS_CELLS], slack_at[FACTS_CELLS];
	struct curve_flow soon[FACTS_CELLS];
	/* [begin][end - begin]: perhaps late. NULL: none began then. */
	struct curve_pair *pairs[FACTS_CELLS];
	bool failed; /* no memory: something is missing */

	/* By facts_curve_finish(): */
	uint32_t cells;
	uint64_t ends_ns[FACTS_CELLS];
	struct curve_flow late[FACTS_CELLS], never[FACTS_CELLS];
};

struct err *facts_curve_create(struct facts_curve **ret);
/* Accepts NULL. */
void facts_curve_destroy(struct facts_curve *curve);

/* Makes each two of the first `used` cells one. */
void facts_curve_join(struct facts_curve *curve, uint32_t used);

/* Notes a block that may be late: in so many cells. */
void facts_curve_pair(struct facts_curve *curve, uint32_t begin, uint32_t end, uint64_t bytes,
		      uint64_t blocks);

/* Judges the pairs: those `late` cells apart or more. used: how many cells there are. */
void facts_curve_finish(struct facts_curve *curve, uint32_t used, double late);

static inline void curve_flow_begin(struct curve_flow *flow, uint64_t bytes, uint64_t blocks)
{
	flow->allocated_bytes += bytes;
	flow->allocated_blocks += blocks;
}

static inline void curve_flow_end(struct curve_flow *flow, uint64_t bytes, uint64_t blocks)
{
	flow->freed_bytes += bytes;
	flow->freed_blocks += blocks;
}

static inline void curve_flow_add(struct curve_flow *sum, const struct curve_flow *more)
{
	curve_flow_begin(sum, more->allocated_bytes, more->allocated_blocks);
	curve_flow_end(sum, more->freed_bytes, more->freed_blocks);
}

/* A block that began in one cell ended in another. soon: it surely was not late. */
static inline void facts_curve_died(struct facts_curve *curve, uint32_t begin, uint32_t end,
				    bool soon, uint64_t bytes, uint64_t slack, uint64_t blocks)
{
	curve->slack -= slack;
	if (!soon) {
		facts_curve_pair(curve, begin, end, bytes, blocks);
		return;
	}
	curve_flow_begin(&curve->soon[begin], bytes, blocks);
	curve_flow_end(&curve->soon[end], bytes, blocks);
}

#endif
