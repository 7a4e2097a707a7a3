/*
 * What the recording of a program in live mode holds beyond sites: it has no events, but a table of
 * sums that the program keeps while it runs (docs/trace-format.md, section 10).
 *
 * A snapshot of it is not synchronised: a program that goes on meanwhile may have counted the bytes
 * of a block and not yet the block. All sums are of one copy of each site, and nothing is negative.
 * Blocks are read before sums. So the width of an interval is that of the blocks shortly before,
 * and it lies around the sums, as they are; only in a table that nobody changes all is of one
 * moment.
 */
#ifndef MALLOW_ANALYSIS_LIVE_LIVE_FACTS_H
#define MALLOW_ANALYSIS_LIVE_LIVE_FACTS_H

#include "analysis/recording.h"
#include "analysis/sites/sample_interval.h"

/*
 * Beside struct site: what is live of a site are its leaked bytes and blocks. Where threads have
 * parts of it, "always live" is in one of these.
 */
struct site_life {
	uint64_t own_peak_blocks; /* the most blocks it ever had live */
	uint64_t first_ns;        /* its first allocation, … */
	uint64_t since_ns;        /* … that since which something was always live, else … */
	uint64_t last_ns;         /* … the last one */
};

/* Of samples: where what is live is, most likely. Of both sums of a site, or of all sites. */
struct live_interval {
	struct sample_interval bytes, blocks;
};

/* Blocks of one thread that another freed. */
struct thread_handover {
	uint32_t thread; /* that freed them */
	uint64_t bytes, blocks;
};

/* All threads of one name. */
struct thread_sums {
	const char *name;
	uint64_t threads; /* that have or had it */
	uint64_t allocated_bytes, allocated_blocks;
	uint64_t freed_bytes, freed_blocks; /* by them, whoever allocated these */
	uint64_t allocated_freed_bytes;     /* of what they allocated, whoever freed it, … */
	uint64_t allocated_freed_blocks;
	uint64_t in_use_bytes, in_use_blocks; /* … and the rest of it */
	const struct thread_handover *freed_by_others;
	uint32_t freed_by_others_count;
};

struct live_facts {
	/* One for each of recording_sites(), of a filtered recording for those that it was made of.
	 */
	const struct site_life *sites;
	/* As many; NULL: all is counted, there are no estimates. Then `all` is nothing, either. */
	const struct live_interval *intervals;
	struct live_interval all;
	const struct thread_sums *threads;
	uint32_t thread_count;
	uint64_t now_ns;       /* when the table was read */
	uint64_t table_bytes;  /* of the program's memory that the table takes, of these … */
	uint64_t table_sites;  /* … for the sums of every site there ever was … */
	uint64_t table_stacks; /* … and for their stacks */
	uint64_t not_counted;  /* allocations and frees, mostly because the table is full */
};

/* NULL: the recording has events. */
const struct live_facts *recording_live(const struct recording *recording);

#endif
