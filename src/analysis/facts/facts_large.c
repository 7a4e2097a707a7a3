/* Blocks that may be a good part of the peak, and what the peak were without each of them. */
#include "analysis/facts/facts_walk.h"

bool facts_large_counts(const struct large_candidate *large, const struct site_table *sites)
{
	if (large->size < facts_large(sites->summary.peak_bytes))
		return false;
	return large->freed == UINT64_MAX ? large->number <= sites->peak_block
					  : large->died_peak == sites->peak;
}

/* Drops those that have become too small, or were freed before the peak. */
static void prune(struct facts_walk *walk, const struct site_table *sites)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < walk->large_count; i++) {
		const struct large_candidate *large = &walk->large[i];

		if (facts_large_counts(large, sites) ||
		    (large->freed == UINT64_MAX &&
		     large->size >= facts_large(sites->summary.peak_bytes)))
			walk->large[kept++] = *large;
	}
	walk->large_count = kept;
}

bool facts_large_begin(struct facts_walk *walk, const struct site_table *sites,
		       const struct live_block *block, uint64_t weight)
{
	if (!block->size)
		return false;
	facts_walk_flush(walk, sites->summary.live_bytes);
	if (walk->large_count == FACTS_CANDIDATES)
		prune(walk, sites);
	// Five at most are live and large, and five were live at the peak.
	if (walk->large_count == FACTS_CANDIDATES)
		return false;
	walk->large[walk->large_count++] = (struct large_candidate){
		.number = block->number - 1,
		.size = block->size,
		.bytes = block->size * weight,
		.allocated = block->ticks,
		.freed = UINT64_MAX,
		.site = block->site,
		.without_bytes = sites->summary.peak_bytes,
		.without_ticks = sites->peak_ticks,
	};
	return true;
}

void facts_large_end(struct facts_walk *walk, const struct site_table *sites,
		     const struct live_block *block, uint64_t ticks)
{
	facts_walk_flush(walk, sites->summary.live_bytes);
	for (uint32_t i = 0; i < walk->large_count; i++) {
		struct large_candidate *large = &walk->large[i];

		if (large->number != block->number - 1)
			continue;
		large->freed = ticks;
		large->died_peak = large->number <= sites->peak_block ? sites->peak : 0;
		if (!large->died_peak)
			*large = walk->large[--walk->large_count];
		return;
	}
}
