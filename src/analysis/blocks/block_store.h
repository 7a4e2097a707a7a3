/*
 * Pairs allocations and frees to blocks, as events come in order of time. It knows which block is
 * live at an address, keeps the sums of its site, and, if wanted, makes the columns of blocks.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_STORE_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_STORE_H

#include "analysis/facts/facts_walk.h"
#include "analysis/load/address_table.h"
#include "analysis/load/tick_clock.h"
#include "analysis/recording.h"
#include "analysis/sites/site_table.h"
#include "hosted/files/spill.h"
#include "hosted/vec.h"
#include "trace/decode.h"

#define BLOCK_NONE UINT64_MAX

/* The columns of struct block_columns, and the type of each. tag and free_stack may be missing. */
#define BLOCK_COLUMNS(X)                                                                           \
	X(allocated_ns, uint64_t)                                                                  \
	X(freed_ns, uint64_t)                                                                      \
	X(address, uint64_t)                                                                       \
	X(size, uint64_t)                                                                          \
	X(slack, uint32_t)                                                                         \
	X(successor, uint32_t)                                                                     \
	X(free_turn, uint32_t)                                                                     \
	X(site, uint32_t)                                                                          \
	X(thread, uint32_t)                                                                        \
	X(free_thread, uint32_t)                                                                   \
	X(tag, uint32_t)                                                                           \
	X(entry, uint8_t)                                                                          \
	X(heap_flags, uint8_t)                                                                     \
	X(free_stack, uint32_t)

enum block_column {
#define BLOCK_COLUMN(name, type) BLOCK_COLUMN_##name,
	BLOCK_COLUMNS(BLOCK_COLUMN)
#undef BLOCK_COLUMN
		BLOCK_COLUMN_COUNT
};

/* The same columns, for writing. */
struct block_rows {
#define BLOCK_COLUMN(name, type) type *name;
	BLOCK_COLUMNS(BLOCK_COLUMN)
#undef BLOCK_COLUMN
};

/* A block whose address was allocated again before its free was met. */
struct displaced_block {
	struct live_block block; /* live: its free is still to come */
	uint64_t ticks;          /* when that was */
	uint32_t thread;         /* the thread that got the address: its own frees are not late */
};

struct block_store {
	struct block_columns columns; /* what others read; points into the rows */
	uint64_t sample_mean;         /* as in recording_facts; not 0: sums are estimates */
	uint64_t count;               /* how many blocks there are so far */
	bool wanted;                  /* the columns are to be kept */
	struct facts_walk *facts;     /* owned; NULL: not wanted */
	bool temporary_known;         /* the events tell it: all allocations are among them */
	bool free_stacks;             /* stacks of frees are kept */
	bool tagged;                  /* tags are kept: some block had one */
	bool leisurely;               /* there is no hurry: no toucher is wanted */
	bool followed;          /* rows come for as long as a program runs: spill.h, `early` */
	bool ended_wanted;      /* `ended` is filled */
	struct block_rows rows; /* times are ticks until block_store_finish() */
	size_t capacity;
	struct spill spills[BLOCK_COLUMN_COUNT]; /* the memory of each column */
	/* Touches pages of rows to come, once there are many; NULL: none. */
	struct page_toucher *toucher;

	struct address_table live;
	uint64_t largest;                      /* the most bytes of a block so far */
	struct live_block *latest;             /* the block allocated last, until the next free */
	VEC(struct displaced_block) displaced; /* [first_displaced …), by ticks */
	size_t first_displaced;
	uint64_t window;      /* how many ticks late a free may be */
	uint64_t narrowest;   /* the smallest window since a block was displaced */
	uint64_t latest_free; /* the most ticks that a free within the window was late */
	uint64_t too_late;    /* the fewest ticks that one beyond it was late; 0: none was */

	VEC(uint64_t) last; /* for each thread, its latest allocation */
	/* Blocks that ended since this was emptied, if wanted: block_times.h. */
	VEC(uint32_t) ended;
	uint64_t unknown_frees, implicit_frees;
};

void block_store_deinit(struct block_store *store);
/* spill_give_back() for all columns. */
void block_store_give_back(const struct block_store *store);

/*
 * Sets how many ticks late a free may be, from now on. It may be called again. false: with this
 * window an earlier free would have ended another block, so all events must be taken anew.
 */
bool block_store_set_window(struct block_store *store, uint64_t ticks);

/* To be called before the first event: there are so many threads. */
struct err *block_store_threads(struct block_store *store, uint32_t count);

/*
 * Takes an allocation by thread; for a realloc, its new block. ticks never go back from one call to
 * the next, here and in block_store_free(). node: the innermost of its stack; RECORDING_NONE:
 * empty. The new block has the number store->count - 1.
 */
struct err *block_store_allocate(struct block_store *store, struct site_table *sites,
				 const struct decode_event *event, uint32_t node, uint64_t ticks,
				 uint32_t thread, uint32_t tag);

/*
 * The same for a block that nothing will end, at an address that no other block has: the address is
 * not remembered, which takes more memory than all columns.
 */
struct err *block_store_add_lasting(struct block_store *store, struct site_table *sites,
				    const struct decode_event *event, uint32_t node, uint64_t ticks,
				    uint32_t thread);

/*
 * Takes a free by thread. *ret: the block, all but its address valid until the next call; NULL: not
 * known. A block is temporary if the thread that allocated it has allocated nothing else until its
 * free, whichever thread frees it.
 */
struct err *block_store_free(struct block_store *store, struct site_table *sites, uint64_t address,
			     uint64_t ticks, uint32_t thread, const struct live_block **ret);

/* Notes the stack of the free that ended the block: its innermost node. block: NULL: not known. */
static inline void block_store_note_free(struct block_store *store, const struct live_block *block,
					 uint32_t node)
{
	if (store->wanted && store->free_stacks && block)
		store->rows.free_stack[block->number - 1] = node;
}

/* Notes that the block, as it was when it ended, was made the one allocated last by realloc. */
void block_store_succeed(struct block_store *store, const struct live_block *old);

/* Frees the columns, which were needed for a while only. */
void block_store_drop_rows(struct block_store *store);

/* Turns ticks into nanoseconds, and frees what only loading needs. */
void block_store_finish(struct block_store *store, const struct tick_clock *clock);

#endif
