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

struct recording {
	/* All but sites, summary and facts belongs to another recording: filtered.h. */
	bool borrowed;
	bool blocks_for_facts; /* blocks are there for nothing else */
	bool watched;          /* live_line or heap_errors is to be filled: load_watch.c */
	bool growing;          /* stacks and blocks belong to the recording that it is a look at */
	struct arena arena;    /* strings */
	struct recording_facts facts;
	struct recording_summary summary;
	struct module_table modules;
	struct frame_table frames;
	struct stack_trie stacks;
	struct block_store blocks;
	struct block_cache *views;       /* NULL: blocks were not needed */
	struct facts_cache *facts_cache; /* NULL: the sites are not those of the recording */
	/* facts_pack()'s bytes from an index, in the arena. NULL: none. */
	const uint8_t *packed_facts;
	size_t packed_facts_size;
	struct site_table sites;
	VEC(struct recorded_thread) threads;
	VEC(struct memory_sample) memory;
	VEC(struct recorded_mark) marks;
	VEC(struct recorded_switch) switches;
	VEC(struct mapping_operation) mappings;
	VEC(struct mallopt_operation) mallopts;
	VEC(struct unseen) unseen; /* as its records or its unseen chunk say */
	bool unseen_stored;        /* it has such a chunk, so the list is whole */
	struct pool_table pools;
	struct live_data live; /* used instead of events */
	struct live_line live_line;
	struct heap_errors heap_errors;
	uint64_t fingerprint; /* of its chunks: struct chunk_index */
	uint64_t modified;    /* when its file was modified, taken before it was read; 0: unknown */
	struct index_mapping index_mapping; /* has the blocks if they come from an index file */
	bool index_stale;                   /* the user has an index file that could not be used */
	uint8_t *symbols;                   /* payload of its symbols chunk, owned; NULL: none */
	size_t symbols_size;
	uint8_t *curve; /* payload of its curve chunk, owned: series_stored.h; NULL: none */
	size_t curve_size;
};

/* What brk adds is anonymous memory, as of mmap. Call it for each operation that was read. */
static inline void mapping_complete(struct mapping_operation *mapping)
{
	if (mapping->kind != TRACE_RECORD_BRK)
		return;
	mapping->protection = PROT_READ | PROT_WRITE;
	mapping->flags = MAP_PRIVATE | MAP_ANONYMOUS;
	mapping->fd = -1;
}

/* Frees what the struct holds, not the struct. Accepts one that was filled in part. */
void recording_deinit(struct recording *recording);

/* As recording_open(), for a source that the caller has. */
struct err *recording_open_source(const struct byte_source *source, unsigned int needs,
				  recording_progress *progress, void *argument,
				  struct recording **ret);

/* Fills an empty recording. needs: enum recording_needs. */
struct err *load_recording(struct recording *recording, const struct byte_source *source,
			   unsigned int needs, recording_progress *progress, void *argument);

#endif
