/*
 * What the recording of a program in live mode has besides sites. It has no events, but a table of
 * sums that the program keeps while it runs (docs/trace-format.md, section 10).
 *
 * A snapshot of the table is not synchronised: the program goes on, and may have counted the bytes
 * of a block and not yet the block. All sums are made from one copy of each site, and none is
 * negative. Blocks are read before sums. So the width of an interval comes from the blocks shortly
 * before, and its middle from the sums. Only a table that nobody changes gives numbers of one
 * moment.
 */
#ifndef MALLOW_ANALYSIS_LIVE_LIVE_FACTS_H
#define MALLOW_ANALYSIS_LIVE_LIVE_FACTS_H

#include "analysis/recording.h"
#include "analysis/sites/sample_interval.h"

/*
 * Belongs to a struct site, whose leaked bytes and blocks are what is live. If the site has parts,
 * "always live" means in one of the parts.
 */
struct site_life {
	uint64_t own_peak_blocks; /* the most blocks that it had live at any time */
	uint64_t first_ns;        /* of the first allocation, … */
	uint64_t since_ns; /* … of the first one since which something was always live, … */
	uint64_t last_ns;  /* … of the last one */
};

/*
 * For samples: the interval in which the true live sums most likely are. For a site, or for all
 * sites.
 */
struct live_interval {
	struct sample_interval bytes, blocks;
};

/* Blocks of one thread that another freed. */
struct thread_handover {
	uint32_t thread; /* the thread that freed them */
	uint64_t bytes, blocks;
};

/* All threads of one name. */
struct thread_sums {
	const char *name;
	uint64_t threads; /* how many threads have or had this name */
	uint64_t allocated_bytes, allocated_blocks;
	uint64_t freed_bytes, freed_blocks; /* freed by them, whoever allocated */
	uint64_t allocated_freed_bytes;     /* freed of what they allocated, by anyone … */
	uint64_t allocated_freed_blocks;
	uint64_t in_use_bytes, in_use_blocks; /* … and the rest */
	const struct thread_handover *freed_by_others;
	uint32_t freed_by_others_count;
};

struct live_facts {
	/* One for each of recording_sites(); in a filtered recording: of the original's. */
	const struct site_life *sites;
	/*
	 * One for each site. NULL: everything was counted, so there are no estimates; then `all`
	 * means nothing.
	 */
	const struct live_interval *intervals;
	struct live_interval all;
	const struct thread_sums *threads;
	uint32_t thread_count;
	uint64_t now_ns;       /* when the table was read */
	uint64_t table_bytes;  /* how much of the program's memory the table takes; of this … */
	uint64_t table_sites;  /* … for sums of all sites ever met … */
	uint64_t table_stacks; /* … and for their stacks */
	uint64_t not_counted;  /* allocations and frees; mostly because the table is full */
};

/* The live facts of a recording. NULL: it has events instead. */
const struct live_facts *recording_live(const struct recording *recording);

#endif
