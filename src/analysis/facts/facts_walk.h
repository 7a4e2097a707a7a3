/*
 * What run facts and the stored curve need, noted while events are read: block_store.c calls this
 * for each of them. No block is kept for it once it is freed.
 *
 * How long the run will be is known at its end only, and a recording may be read while it is
 * written. So time is cut into cells of a power of two of ticks. When there would be more than
 * FACTS_CELLS of them, each two become one: a run of some length has half as many cells or more.
 *
 *	ticks   start                                     now
 *	moments   ┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆┆       what was live in all
 *	cells     │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │ 6 │ 7 │ 8 │ 9 │      steps of the curve
 *	levels    │       0       │       1       │       2      ends of parts, site_table.h
 *
 * A step of the curve is a cell, and the end of a part of the run is the begin of a level that is
 * nearest to it. Samples of memory may come after all events: what was live at the last moment
 * before one is known.
 */
#ifndef MALLOW_ANALYSIS_FACTS_FACTS_WALK_H
#define MALLOW_ANALYSIS_FACTS_FACTS_WALK_H

#include "analysis/facts/facts_curve.h"
#include "analysis/facts/run_facts.h"
#include "analysis/load/address_table.h"
#include "analysis/sites/site_table.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "hosted/vec.h"

#define FACTS_MOMENTS    (FACTS_CELLS << 6)
#define FACTS_LEVEL_BITS 2 /* cells of a level */
#define FACTS_LOOK_BITS  6 /* at each so many cells pages may be looked at */

/* At most FACTS_SHARE were live at the peak, and as many are live. */
#define FACTS_CANDIDATES (2 * FACTS_SHARE + 2)

/* A block that may turn out to be a struct large_block. */
struct large_candidate {
	uint64_t number; /* the block's, from 0 */
	uint64_t size;
	uint64_t bytes; /* by which the live bytes grew: more than the size in a sample */
	uint64_t allocated, freed; /* ticks; UINT64_MAX: it lives */
	uint64_t died_peak;        /* if freed: site_table.peak, if it was live then; else 0 */
	uint64_t without_bytes, without_ticks; /* the peak of all others */
	uint32_t site;
};

/* Pages when they were looked at. */
struct page_look {
	struct page_facts facts; /* without at_ns */
	uint64_t ticks;          /* all events before these were taken */
	uint64_t live_bytes;     /* of all blocks */
};

struct facts_walk {
	uint64_t start;     /* ticks of the recording's start */
	unsigned int shift; /* a cell is 1 << shift ticks */
	uint32_t cell;      /* the present one */
	uint64_t until;     /* at these ticks something is to be noted: facts_walk_pass() */
	bool failed;        /* no memory: something is missing */
	/* The most live bytes since what was in the cell, or large, last changed; and when. */
	uint64_t most, most_ticks;
	uint64_t *live_at;         /* of FACTS_MOMENTS: the bytes live before what happened then */
	unsigned int moment_shift; /* a moment is 1 << moment_shift ticks */
	uint32_t moment;           /* the present one */
	struct map chain_of;       /* from a site to its place in chains */
	VEC(struct chain_facts) chains;
	VEC(struct thread_facts) threads; /* as far as any freed for others */
	struct large_candidate large[FACTS_CANDIDATES];
	uint32_t large_count;
	uint32_t peak_site, peak_thread; /* of the allocation that reached the peak */
	struct page_look looks[2];       /* the last one, and that before */
	uint64_t visited;                /* places of blocks, by all looks */
	struct facts_curve *curve;       /* NULL: not wanted */
};

/* *ret: of a recording that begins at these ticks. curve: it is wanted. */
struct err *facts_walk_create(uint64_t start, bool curve, struct facts_walk **ret);
/* Accepts NULL. */
void facts_walk_destroy(struct facts_walk *walk);
CLEANUP_DEFINE(struct facts_walk *, facts_walk_destroy);

/* Whether there was no memory for something that was to be noted. */
static inline bool facts_walk_failed(const struct facts_walk *walk, const struct site_table *sites)
{
	return walk->failed || sites->levels_failed || (walk->curve && walk->curve->failed);
}

/* The run ended then: goes on to its last cell. */
void facts_walk_end(struct facts_walk *walk, struct site_table *sites, uint64_t ticks);

/* Steps of the functions below. live: the table of live blocks. */
void facts_walk_pass_slow(struct facts_walk *walk, struct site_table *sites,
			  const struct address_table *live, uint64_t ticks, uint64_t blocks);
void facts_walk_flush(struct facts_walk *walk, uint64_t live_bytes);
void facts_walk_hand(struct facts_walk *walk, struct site_table *sites,
		     const struct live_block *block, uint32_t thread, uint64_t weight);
/* facts_large.c: false: the block is none, after all. */
bool facts_large_begin(struct facts_walk *walk, const struct site_table *sites,
		       const struct live_block *block, uint64_t weight);
void facts_large_end(struct facts_walk *walk, const struct site_table *sites,
		     const struct live_block *block, uint64_t ticks);
/* Whether it is large and was live at the peak, by what was read so far. */
bool facts_large_counts(const struct large_candidate *large, const struct site_table *sites);
/* facts_pages.c: looks at the pages of the heap. */
void facts_pages_look(struct facts_walk *walk, struct site_table *sites,
		      const struct address_table *live);

/* Whether pages tell anything when so much is live: at less than 2 % of the peak they do not. */
static inline bool facts_pages_tell(uint64_t live_bytes, uint64_t peak_bytes)
{
	return live_bytes && live_bytes >= peak_bytes / 50;
}

/* The fewest bytes that make a block large. */
static inline uint64_t facts_large(uint64_t peak_bytes)
{
	return peak_bytes / FACTS_SHARE + (peak_bytes % FACTS_SHARE != 0);
}

static inline uint64_t facts_walk_since(const struct facts_walk *walk, uint64_t ticks)
{
	return ticks > walk->start ? ticks - walk->start : 0;
}

/* To be called before each event. blocks: how many were allocated so far. */
static inline void facts_walk_pass(struct facts_walk *walk, struct site_table *sites,
				   const struct address_table *live, uint64_t ticks,
				   uint64_t blocks)
{
	if (unlikely(ticks >= walk->until))
		facts_walk_pass_slow(walk, sites, live, ticks, blocks);
}

/* To be called for each block before site_table_born(). weight: how many it stands for. */
static inline void facts_walk_begin(struct facts_walk *walk, const struct site_table *sites,
				    struct live_block *block, uint64_t weight)
{
	block->large = block->size >= facts_large(sites->summary.peak_bytes) &&
		       unlikely(facts_large_begin(walk, sites, block, weight));
}

/* To be called for each block after site_table_born(). */
static inline void facts_walk_born(struct facts_walk *walk, struct site_table *sites,
				   const struct live_block *block, uint64_t weight)
{
	uint64_t live = sites->summary.live_bytes;

	sites->states.items[block->site].slack += block->slack * weight;
	if (live > walk->most) {
		walk->most = live;
		walk->most_ticks = block->ticks;
	}
	if (site_table_peak_block(sites) == block->number - 1) {
		walk->peak_site = block->site;
		walk->peak_thread = block->thread;
	}
	if (walk->curve)
		walk->curve->slack += block->slack * weight;
}

/*
 * To be called for each block that ends, after site_table_died(). thread: that freed it;
 * RECORDING_NONE: not known.
 */
static inline void facts_walk_died(struct facts_walk *walk, struct site_table *sites,
				   const struct live_block *block, uint64_t ticks, uint32_t thread,
				   uint64_t weight)
{
	sites->states.items[block->site].slack -= block->slack * weight;
	if (unlikely(block->large))
		facts_large_end(walk, sites, block, ticks);
	if (unlikely(block->thread != thread) && thread != RECORDING_NONE)
		facts_walk_hand(walk, sites, block, thread, weight);
	if (walk->curve)
		facts_curve_died(
			walk->curve,
			(uint32_t)(facts_walk_since(walk, block->ticks) >> walk->shift), walk->cell,
			// The run will not be shorter than it is now.
			ticks - block->ticks < facts_walk_since(walk, ticks) / FACTS_CURVE_LATE,
			block->size * weight, block->slack * weight, weight);
}

/*
 * realloc made one block of the other. old: as it was when it ended. weight: how many that stood
 * for.
 */
void facts_walk_succeed(struct facts_walk *walk, const struct live_block *old,
			struct live_block *block, uint64_t weight);

#endif
