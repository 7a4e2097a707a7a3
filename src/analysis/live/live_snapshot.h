/*
 * A copy of a program's live table (trace/live.h, docs/trace-format.md, section 10), as it was when
 * it was read: while the program goes on, sites first, so that the nodes that they name are there,
 * and both before the chunks whose frame records the nodes name. Nothing that the file says is
 * believed: what does not fit into it is left out, and whoever uses a number checks it.
 */
#ifndef MALLOW_ANALYSIS_LIVE_LIVE_SNAPSHOT_H
#define MALLOW_ANALYSIS_LIVE_LIVE_SNAPSHOT_H

#include "analysis/live/live_blocks.h"

/* Zeroed: nothing. */
struct live_snapshot {
	struct live_header header;
	/* Entries by their number; [0] is none, of threads it is all without an entry, and there.
	 */
	struct live_site *sites;
	struct live_node *nodes;
	struct live_thread *threads;
	struct live_freed *freed; /* [freeing * threads + owner] */
	uint32_t site_count, node_count, thread_count;
	struct live_blocks blocks;
	uint64_t size; /* of the whole file, as far as it takes memory or disk */
};

/*
 * index: of the file, with the chunks of its table; renewed when what was read names others, and
 * the damage with it. blocks: those are wanted, too.
 */
struct err *live_snapshot_read(const struct byte_source *source, struct chunk_index *index,
			       struct damage *damage, bool blocks, struct live_snapshot *ret);
/* Accepts a zeroed struct. */
void live_snapshot_deinit(struct live_snapshot *snapshot);

/* Whether there is a site of that number, and something was counted of it. */
bool live_snapshot_counts(const struct live_snapshot *snapshot, uint32_t site);

/* The head of one of the table's chunks; zero where the file is cut short. */
struct err *live_chunk_read(const struct byte_source *source, struct chunk_extent extent,
			    struct live_chunk *ret);

/*
 * The entries of a part, at most *count, which becomes how many there are (free()). Those that no
 * chunk has are zero, and so is one behind the last.
 */
struct err *live_part_read(const struct byte_source *source, const struct chunk_index *index,
			   enum live_part part, size_t entry_size, uint64_t *count, void *ret);

#endif
