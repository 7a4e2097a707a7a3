/* The inside of space.h: what its parts share. */
#ifndef MALLOW_ANALYSIS_VIEWS_SPACE_DATA_H
#define MALLOW_ANALYSIS_VIEWS_SPACE_DATA_H

#include "analysis/views/space.h"
#include "hosted/files/spill.h"
#include "hosted/vec.h"

/* A live block, with its bytes in memory: [address, used_end) asked for, to `end` usable. */
struct space_block {
	uint64_t address, used_end, end; /* cut where the next block of its lane begins */
	uint64_t size, slack;            /* not cut */
	uint64_t allocated_ns;
	uint32_t site;
	uint32_t group;
	bool matches;
	bool never_freed;
};

struct space_job {
	const struct recording *recording;
	const struct space_query *query;
	struct space *space;
	struct space_block *blocks; /* by lane, in order of their addresses */
	uint64_t count;
	struct spill memory; /* of the blocks */
	VEC(struct space_lane) lanes;
	VEC(uint64_t) ends; /* for each lane: behind its last block */
	VEC(struct space_cell) cells;
};

/* Units in a row, of a size, that a block has bytes in: so many in each. */
struct space_run {
	uint64_t first, count;
	uint64_t used, slack;
};

/*
 * Cuts a block into units of 1 << shift bytes. ret: at most 5 runs. The first and the last unit are
 * runs of their own, because other blocks may lie in them. A block without bytes is in the unit of
 * its address.
 */
size_t space_cut(const struct space_block *block, unsigned int shift, struct space_run ret[5]);

/* An address that many bytes further; the last one, if there are not so many. */
static inline uint64_t space_behind(uint64_t address, uint64_t size)
{
	return size < UINT64_MAX - address ? address + size : UINT64_MAX;
}

/* Finds the live blocks, and the lanes that they lie in. */
struct err *space_find_blocks(struct space_job *job);

/* Counts pages: fills the sums of lanes and the keepers. */
struct err *space_count_pages(struct space_job *job);

/* Lists the cells of all lanes. *fits: there are no more than `most`. */
struct err *space_list_cells(struct space_job *job, unsigned int shift, uint32_t most, bool *fits);

#endif
