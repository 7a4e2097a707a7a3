/*
 * A copy of a program's live table (trace/live.h, docs/trace-format.md, section 10). The program
 * may go on while it is read. The program makes a thing before it makes a reference to it. So
 * references are read first: blocks, then sites, then nodes, and last the chunks with frame
 * records. Nothing in the file is trusted: what does not fit into the file is left out, and whoever
 * uses a number checks it.
 */
#ifndef MALLOW_ANALYSIS_LIVE_LIVE_SNAPSHOT_H
#define MALLOW_ANALYSIS_LIVE_LIVE_SNAPSHOT_H

#include "analysis/live/live_blocks.h"

/* Zeroed: nothing. */
struct live_snapshot {
	struct live_header header;
	/*
	 * Entries by number. [0] is none, but [0] of threads is there: all threads without an
	 * entry.
	 */
	struct live_site *sites;
	struct live_node *nodes;
	struct live_thread *threads;
	struct live_freed *freed; /* [freeing * threads + owner] */
	uint32_t site_count, node_count, thread_count;
	struct live_blocks blocks;
	uint64_t size; /* how much memory or disk the whole file takes */
};

/*
 * Takes the copy. index: the file's, with the chunks of its table; it is built again once the sites
 * were read, and damage with it. blocks: read the blocks, too.
 */
struct err *live_snapshot_read(const struct byte_source *source, struct chunk_index *index,
			       struct damage *damage, bool blocks, struct live_snapshot *ret);
/* Accepts a zeroed struct. */
void live_snapshot_deinit(struct live_snapshot *snapshot);

/* Whether there is a site of that number, with something counted. */
bool live_snapshot_counts(const struct live_snapshot *snapshot, uint32_t site);

/* Reads the head of one of the table's chunks. What the file is too short for is zero. */
struct err *live_chunk_read(const struct byte_source *source, struct chunk_extent extent,
			    struct live_chunk *ret);

/*
 * Reads the entries of a part, at most *count; *count becomes how many there are. ret: a pointer to
 * the array's pointer; the caller owns the array (free()). Entries that no chunk has are zero, and
 * so is one more behind the last.
 */
struct err *live_part_read(const struct byte_source *source, const struct chunk_index *index,
			   enum live_part part, size_t entry_size, uint64_t *count, void *ret);
/* The same into memory that may be larger than RAM. ret: what it held before is lost. */
struct err *live_part_read_large(const struct byte_source *source, const struct chunk_index *index,
				 enum live_part part, size_t entry_size, uint64_t *count,
				 struct spill *ret);

#endif
