/* Makes the run facts of what was noted while events were read: facts_walk.h. */
#ifndef MALLOW_ANALYSIS_FACTS_FACTS_MAKE_H
#define MALLOW_ANALYSIS_FACTS_FACTS_MAKE_H

#include "analysis/errors/heap_errors.h"
#include "analysis/facts/facts_cache.h"
#include "analysis/facts/facts_walk.h"
#include "analysis/load/tick_clock.h"

/* All that was noted up to now. */
struct facts_source {
	struct facts_walk *walk;
	const struct address_table *live; /* what was never freed */
	const struct site_table *sites;   /* before site_table_finish() */
	const struct tick_clock *clock;
	uint64_t last_ticks;  /* the end of the run, so far */
	uint64_t sample_mean; /* 0: each block counts once */
};

/*
 * recording: has its lists already. *ret: made by owned_facts_reserve(). More may be noted then.
 * The only error: no memory.
 */
struct err *facts_make(const struct facts_source *source, const struct recording *recording,
		       struct owned_facts *ret);

/* Makes the curve of the walk. Nothing may be noted any more. sites: those of the source. */
void facts_make_curve(const struct facts_source *source, struct site_table *sites);

/* Fills in what heap_errors_judge() found. *ret: without errors. */
void facts_note_errors(const struct heap_errors *errors, struct error_facts *ret);

#endif
