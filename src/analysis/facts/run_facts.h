/*
 * What findings and reports need to know of a recording's blocks, noted while its events are read
 * (facts_walk.h): of each site how its live bytes went over the run, and of the whole run its
 * largest blocks, its chains of reallocs, who freed for whom, and how full its pages were. A
 * finished recording keeps all of it in its index, so that no event is read for a report.
 *
 * The run is cut into FACTS_POINTS parts, which are equal to within a 256th of the run, or two
 * ticks. A block counts at the end T of a part if it was allocated at T or before, and freed after
 * T: as the condition alive_at of a filter, but for events in the same nanosecond. In a sample
 * bytes and blocks are estimates, as in struct site.
 */
#ifndef MALLOW_ANALYSIS_FACTS_RUN_FACTS_H
#define MALLOW_ANALYSIS_FACTS_RUN_FACTS_H

#include "analysis/recording.h"

#define FACTS_POINTS 16
#define FACTS_SHARE                                                                                \
	5             /* a block is large if it is a fifth of the peak or more: at most five are   \
		       */
#define FACTS_LATE 50 /* the last moments of a run: the last 50th of it */

#define FACTS_PAGE       4096u
#define FACTS_PAGE_BLOCK (64u << 10)        /* larger blocks fill their pages */
#define FACTS_PAGE_FEW   (FACTS_PAGE / 10u) /* a page is kept by few bytes: so many or less */

/* Facts of the blocks of one site. */
struct site_facts {
	uint64_t live[FACTS_POINTS]; /* bytes live at the end of each part; the last: never freed */
	uint64_t kept[FACTS_POINTS]; /* bytes allocated in each part and never freed */
	uint64_t late_bytes, late_blocks;     /* allocated in the last moments and never freed */
	uint64_t peak_slack;                  /* usable bytes beyond the size, at the peak */
	uint64_t handed_bytes, handed_blocks; /* freed by another thread than the allocating one */
	uint64_t few_pages; /* at page_facts.at_ns: pages kept by few bytes, most of them its own */
};

/* Facts of a site at which realloc made one block of another. */
struct chain_facts {
	uint32_t site;
	uint64_t steps;  /* how often */
	uint64_t copied; /* bytes of the old block or the new one, where the block moved */
	/* Chains that ended here with at most 1 << i bytes, and more than 1 << (i - 1). */
	uint64_t ends[64];
};

/* A large block that was live at the peak. */
struct large_block {
	uint32_t site;
	uint64_t size;
	uint64_t allocated_ns, freed_ns;
	uint64_t without_bytes, without_ns; /* the peak of all other blocks */
};

/*
 * The pages of blocks of at most FACTS_PAGE_BLOCK bytes, when they were looked at last: before the
 * last part of the run, and when 2 % of the peak or more was live. They are looked at eight times
 * while the run becomes twice as long, unless that would cost too much. pages 0: there was no such
 * moment.
 */
struct page_facts {
	uint64_t at_ns;
	uint64_t pages;      /* on which such a block lay */
	uint64_t blocks;     /* such blocks */
	uint64_t bytes;      /* of these */
	uint64_t few_pages;  /* of the pages, kept by at most FACTS_PAGE_FEW bytes … */
	uint64_t few_blocks; /* … how many blocks did that … */
	uint64_t few_bytes;  /* … and their bytes on these pages */
};

/* What a thread freed of blocks that others had allocated. */
struct thread_facts {
	uint64_t handed_bytes, handed_blocks;
};

/* Frees that are errors of the program: heap_errors.h. */
struct error_facts {
	bool known;
	uint64_t frees;  /* how many errors */
	uint64_t places; /* how many different ones by kind and stacks */
	/* Of the wrong free that was met first; if frees have no stacks, of the allocation. */
	uint32_t stack;
};

/* Arrays live as long as the recording. */
struct run_facts {
	uint64_t ends_ns[FACTS_POINTS];     /* of the parts; the last: the run's duration */
	const struct site_facts *sites;     /* for each of recording_sites() */
	const struct chain_facts *chains;   /* by site */
	const struct thread_facts *threads; /* for each of recording_threads() */
	/* Bytes live at each of recording_memory(), or a 32,768th of the run before, at most. */
	const uint64_t *sampled_live;
	struct large_block large[FACTS_SHARE];
	uint32_t large_count; /* largest first */
	uint32_t chain_count;
	uint32_t peak_site, peak_thread; /* of the allocation that reached the peak */
	struct page_facts pages;
	struct error_facts errors;
};

/*
 * *ret: the facts; several threads may ask. NULL: they are not known. They are if the recording was
 * opened with RECORDING_RUN_FACTS, or from an index that has them; but not of a live table, a
 * filtered or a merged recording. The only error: no memory.
 */
struct err *recording_run_facts(const struct recording *recording, const struct run_facts **ret);

/* The end of a part of a run of that duration, if all are equal; 0 … FACTS_POINTS - 1. */
static inline uint64_t facts_point_ns(uint64_t duration_ns, unsigned int part)
{
	return duration_ns / FACTS_POINTS * (part + 1) +
	       duration_ns % FACTS_POINTS * (part + 1) / FACTS_POINTS;
}

/* The ends of all parts, if they are equal: ends_ns of facts that have them, and of other sums. */
static inline void facts_equal_ends(uint64_t duration_ns, uint64_t *ends_ns)
{
	for (unsigned int i = 0; i < FACTS_POINTS; i++)
		ends_ns[i] = facts_point_ns(duration_ns, i);
}

#endif
