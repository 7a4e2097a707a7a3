/* The inside of struct recording: for recording.c and the files that load it. */
#ifndef MALLOW_ANALYSIS_RECORDING_DATA_H
#define MALLOW_ANALYSIS_RECORDING_DATA_H

#include <sys/mman.h>

#include "analysis/blocks/block_cache.h"
#include "analysis/blocks/block_store.h"
#include "analysis/errors/heap_errors.h"
#include "analysis/facts/facts_cache.h"
#include "analysis/index/index_file.h"
#include "analysis/live/live_data.h"
#include "analysis/load/live_line.h"
#include "analysis/pools/pool_table.h"
#include "analysis/recording.h"
#include "analysis/sight/sight.h"
#include "analysis/sites/site_table.h"
#include "analysis/tables/frame_table.h"
#include "analysis/tables/module_table.h"
#include "analysis/tables/stack_trie.h"
#include "hosted/arena.h"
#include "hosted/files/byte_source.h"
#include "hosted/shared.h"

/*
 * A recording is its own facts and sums, and references to parts that do not change once they are
 * loaded. Recordings that are made of another one share its parts (hosted/shared.h):
 *
 *	                  facts, summary, sites   tables      blocks      pools    facts_cache
 *	filtered copy     own                     shared      none        none     none
 *	suppressed leaks  own                     shared      shared      shared   none, or shared
 *	side of a diff    own                     own         own         shared   none
 *	look (growing.h)  own                     own         own         own      own
 *
 * A look, and a side of a diff, point into memory of the recordings that they are made of; the list
 * of what cannot be seen asks the recording that it belongs to. So a recording that is made of
 * another one is closed first.
 */
struct recording {
	struct recording_facts facts;
	struct recording_summary summary;
	struct site_table sites;
	/* None of the three is NULL. */
	struct recording_tables *tables;
	struct recording_blocks *blocks;
	struct pool_table *pools;
	struct facts_cache *facts_cache; /* NULL: the sites are not those of the recording */
	struct aggregate *aggregate;     /* owned: that of the facts, if it is not in the tables */
};

/* What stacks, threads and times of a recording mean, and all that was read besides events. */
struct recording_tables {
	struct arena arena; /* strings */
	struct module_table modules;
	struct frame_table frames;
	struct stack_trie trie;
	/* The nodes of the trie, or of another that outlives this part. */
	struct stack_nodes {
		const struct stack_node *items;
		size_t count;
	} stacks;
	VEC(struct recorded_thread) threads;
	VEC(struct memory_sample) memory;
	VEC(struct recorded_mark) marks;
	VEC(struct recorded_switch) switches;
	VEC(struct mapping_operation) mappings;
	VEC(struct mallopt_operation) mallopts;
	VEC(struct unseen) unseen;          /* as its records or its unseen chunk say */
	bool unseen_stored;                 /* it has such a chunk, so the list is whole */
	VEC(struct patched_object) patched; /* the same: what is seen by patched functions */
	struct sight *sight;                /* that of the facts, owned */
	struct live_data live;              /* used instead of events */
	/* facts_pack()'s bytes from an index, in the arena. NULL: none. */
	const uint8_t *packed_facts;
	size_t packed_facts_size;
	uint8_t *symbols; /* payload of its symbols chunk, owned; NULL: none */
	size_t symbols_size;
	uint8_t *curve; /* payload of its curve chunk, owned: series_stored.h; NULL: none */
	size_t curve_size;
	uint64_t fingerprint; /* of its chunks: struct chunk_index */
	uint64_t modified;    /* when its file was modified, taken before it was read; 0: unknown */
	bool index_stale;     /* the user has an index file that could not be used */
};

/* The blocks of a recording, and what only a walk over all events tells. */
struct recording_blocks {
	struct block_store store;
	struct block_cache *cache;          /* NULL: blocks were not needed */
	struct index_mapping index_mapping; /* has the columns if they come from an index file */
	bool watched; /* live_line is to be filled, or has a moment: load_watch.c */
	struct live_line live_line;
	struct heap_errors heap_errors;
};

/* *ret: an empty recording, whose parts are its own. facts_cache: NULL. */
struct err *recording_create(struct recording **ret);

/*
 * *ret: a recording that has the tables, and nothing else, of another one, and a copy of its facts.
 * Its blocks and pools are empty.
 */
struct err *recording_create_alike(const struct recording *recording, struct recording **ret);

/*
 * Forgets what was read, so that it can be read again: sites, stacks, pools, and the lists of times
 * and threads. Modules, frames, what is unseen, and blocks stay. The parts must not be shared yet.
 */
void recording_forget_lists(struct recording *recording);

/* Makes the stacks those of the trie, after stack_trie_show() and stack_trie_finish(). */
static inline void recording_show_stacks(struct recording_tables *tables)
{
	tables->stacks = (struct stack_nodes){tables->trie.nodes.items, tables->trie.nodes.count};
}

/* What brk adds is anonymous memory, as of mmap. Call it for each operation that was read. */
static inline void mapping_complete(struct mapping_operation *mapping)
{
	if (mapping->kind != TRACE_RECORD_BRK)
		return;
	mapping->protection = PROT_READ | PROT_WRITE;
	mapping->flags = MAP_PRIVATE | MAP_ANONYMOUS;
	mapping->fd = -1;
}

/* As recording_open(), for a source that the caller has. */
struct err *recording_open_source(const struct byte_source *source, unsigned int needs,
				  recording_progress *progress, void *argument,
				  struct recording **ret);

/* Fills an empty recording. needs: enum recording_needs. */
struct err *load_recording(struct recording *recording, const struct byte_source *source,
			   unsigned int needs, recording_progress *progress, void *argument);

#endif
