/*
 * The blocks that keep each page: at a moment, the memory that live blocks lie in, by lanes and
 * cells, and the pages that would be empty without some of them.
 *
 *	lane     a heap of the allocator: addresses that belong together
 *	cell     4 KiB, 64 KiB or 2 MiB of a lane
 *	page     4 KiB of a lane; it is kept as long as one live block has a byte in it
 *
 * A block takes the bytes that it can use: those asked for, and its slack. No two blocks of a lane
 * share a byte. If they seem to, because a free is not in the recording, the bytes are those of the
 * block that begins later in memory.
 *
 * Numbers are of the blocks that match, and of a sample only of the sampled ones. But a page that
 * another live block lies in, too, is not kept by those that match.
 */
#ifndef MALLOW_ANALYSIS_VIEWS_SPACE_H
#define MALLOW_ANALYSIS_VIEWS_SPACE_H

#include "analysis/groups/block_groups.h"
#include "analysis/recording.h"

#define SPACE_PAGE      12u /* log2 of its size */
#define SPACE_CELLS_MAX 200000u
#define SPACE_TOP_MAX   100u

/* The sizes of cells. By themselves: the smallest of which there are no more than a few thousand.
 */
enum space_cell_size { SPACE_CELL_AUTO, SPACE_CELL_4K, SPACE_CELL_64K, SPACE_CELL_2M };

struct space_query {
	const uint64_t *bits; /* the blocks that match: block_bits.h; NULL: all */
	uint64_t at_ns;       /* live then: as the condition alive_at */
	uint64_t start, end;  /* addresses: only cells in [start, end) are listed */
	enum space_cell_size cell;
	const struct block_groups *groups; /* whose pages are counted together, as `keepers` */
	uint32_t top;                      /* so many keepers, at most SPACE_TOP_MAX */
};

struct space_sum {
	uint64_t used;  /* bytes asked for */
	uint64_t slack; /* usable bytes beyond these */
	uint64_t blocks;
	uint64_t pages;        /* some of the blocks lie in these … */
	uint64_t kept_pages;   /* … and no other block in these */
	uint64_t sparse_pages; /* of the latter, blocks use less than a tenth */
};

enum space_lane_kind {
	SPACE_MAIN_HEAP, /* glibc's main arena */
	SPACE_ARENA,     /* a heap of another arena of glibc's; an arena may have several */
	SPACE_MAPPED,    /* blocks with mappings of their own, by glibc */
	SPACE_RANGE,     /* another allocator's: blocks no more than 64 MiB apart */
};

struct space_lane {
	enum space_lane_kind kind;
	uint32_t number;     /* among those of its kind, from 1 */
	uint64_t start, end; /* whole pages, from the first block to behind the last one */
	struct space_sum sum;
	uint32_t first_cell, cells; /* those listed, in `cells` */
};

/* So many cells in a row that are alike: what a large block takes is one entry. */
struct space_cell {
	uint64_t first; /* address / the size of cells */
	uint64_t count;
	uint64_t used, slack, never_freed; /* bytes in each of them */
	uint64_t pages;                    /* in each of them */
	uint64_t blocks;                   /* that have bytes in it */
	uint64_t oldest_ns;                /* when the oldest of these was allocated */
	uint32_t site;                     /* the one that uses most of it */
};

/* Pages that would be empty without the blocks of a group. */
struct space_keeper {
	uint32_t group;        /* RECORDING_NONE: all others that keep pages by themselves */
	uint32_t groups;       /* how many groups that is */
	uint64_t used, blocks; /* all that the group has */
	uint64_t pages;        /* that it keeps */
	uint64_t kept_by_bytes, kept_by_blocks; /* what lies in these pages */
};

struct space {
	struct space_sum sum; /* of all lanes; used and blocks are what alive_at finds */
	unsigned int cell;    /* log2 of the size of cells */
	struct space_lane *lanes;
	struct space_cell *cells;
	struct space_keeper *keepers; /* most pages first; then the others, as one */
	uint32_t lane_count, cell_count, keeper_count;
};

/*
 * recording: opened with RECORDING_BLOCKS. The errors: no memory; there are more cells than
 * SPACE_CELLS_MAX, which the message says.
 */
struct err *space_create(const struct recording *recording, const struct space_query *query,
			 struct space **ret);
/* Accepts NULL. */
void space_destroy(struct space *space);

#endif
