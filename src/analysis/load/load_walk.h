/*
 * Tells a caller of each operation on a block, in the order of the merge, without keeping blocks:
 * memory is that of stacks, sites and what is live. `mallow strip` reads recordings so, which may
 * be larger than memory.
 */
#ifndef MALLOW_ANALYSIS_LOAD_LOAD_WALK_H
#define MALLOW_ANALYSIS_LOAD_LOAD_WALK_H

#include "analysis/blocks/block_store.h"
#include "analysis/chunks/chunk_index.h"
#include "analysis/load/tick_clock.h"
#include "analysis/recording.h"

struct load_walk {
	/*
	 * The caller's. index: of the source, so that several walks through a growing file see the
	 * same events; borrowed. until: ticks; later operations are not taken.
	 */
	const struct chunk_index *index;
	uint64_t until;
	/*
	 * All are called with `argument`; NULL: there is no caller. A realloc is a free, then an
	 * allocation. The operations of one stream come in the order of its records; stream is its
	 * place among those of the index. now: ticks, which never go back.
	 */
	void *argument;
	/* Reading begins, perhaps once more: what came before is to be forgotten. */
	struct err *(*begin)(void *argument, const struct site_table *sites, uint32_t streams);
	/* block: the new one. displaced: the one that ended because it got its address; or NULL. */
	struct err *(*allocated)(void *argument, uint32_t stream, uint64_t now,
				 const struct live_block *block,
				 const struct live_block *displaced);
	/* block: NULL: not known. late: it has ended before, as `displaced`. */
	struct err *(*freed)(void *argument, uint32_t stream, uint64_t now,
			     const struct live_block *block, bool late);
	/* Everything was read. live: all blocks that have not ended. */
	struct err *(*end)(void *argument, const struct address_table *live);

	/* What load_walk() found, of use beside the recording. */
	struct tick_clock clock;
	uint64_t last_ticks;
	VEC(uint64_t) frame_ids;  /* for each frame its id in the file; 0: it has none */
	VEC(uint64_t) module_ids; /* the same of modules */
};

void load_walk_deinit(struct load_walk *walk);

/*
 * Reads the events of a recording for `walk`. *ret: with sums, stacks and lists. A block that came
 * from another by realloc has the ticks of the first of its chain.
 */
struct err *load_walk(const struct byte_source *source, struct load_walk *walk,
		      recording_progress *progress, void *argument, struct recording **ret);

#endif
