/* What shape.h judges, summed up from single blocks: of any of them, and of groups of them. */
#ifndef MALLOW_ANALYSIS_FINDINGS_SHAPE_SUMS_H
#define MALLOW_ANALYSIS_FINDINGS_SHAPE_SUMS_H

#include "analysis/findings/shape.h"
#include "analysis/groups/block_groups.h"

/* Where in the run a walk over its blocks is. */
struct shape_walk {
	const struct block_columns *blocks;
	uint64_t sample_mean;        /* of the recording; 0: it has all blocks */
	uint64_t ends[FACTS_POINTS]; /* of the parts of the run */
	uint64_t late_ns;            /* the last moments begin behind this */
	unsigned int part;           /* in which the last block was allocated */
};

/* recording: opened with RECORDING_BLOCKS; it must outlive the walk. */
void shape_walk_begin(const struct recording *recording, struct shape_walk *ret);

/* Adds a block. The numbers of one walk's blocks must rise. */
void shape_walk_add(struct shape_walk *walk, uint64_t block, struct shape_input *input);

/*
 * ret[i]: the sums of those blocks (block_bits.h) that are in groups[numbers[i]]. The only error:
 * no memory.
 */
struct err *shape_sums_create(const struct recording *recording, const uint64_t *bits,
			      const struct block_groups *groups, const uint32_t *numbers,
			      uint32_t count, struct shape_input **ret);

#endif
