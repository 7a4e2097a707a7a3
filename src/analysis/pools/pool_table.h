/*
 * What pools of the program's own hold, summed up as events come.
 *
 *	place    an address that stands for a pool; knows its live blocks by their addresses
 *	pool     what views show: all places of one name, or a place without a name
 *
 * A block belongs to the pool that its place was when it came to be, whatever the place is called
 * later. The sums of each pool are a site table of its own: so each has its own peak, and each site
 * its share in that.
 */
#ifndef MALLOW_ANALYSIS_POOLS_POOL_TABLE_H
#define MALLOW_ANALYSIS_POOLS_POOL_TABLE_H

#include "analysis/recording.h"
#include "analysis/sites/site_table.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "hosted/vec.h"
#include "trace/decode.h"

struct tick_clock;

struct pool_block {
	uint64_t size;
	uint64_t turn;   /* how many blocks its thread had been handed out, this one included */
	uint32_t pool;   /* of a free one: the index of the next free one plus 1, 0: none */
	uint32_t site;   /* of its pool */
	uint32_t thread; /* index */
};

struct pool_place {
	uint64_t address;
	uint32_t pool;     /* RECORDING_NONE: neither named nor used yet */
	struct map blocks; /* address to index of block */
};

/* Zeroed: empty. */
struct pool_table {
	VEC(struct recorded_pool) pools;
	VEC(struct site_table) sites; /* of each pool */
	struct intern names;
	struct recording_summary all; /* live_bytes and leaked_blocks are running sums */
	bool births_wanted;
	const struct pool_birth *births; /* when all were taken: here, or in an index file */
	size_t birth_count;
	VEC(struct pool_birth) own_births; /* times in ticks until then */

	/* Of no use after pool_table_finish(). */
	VEC(struct pool_place) places;
	struct map place_at;   /* address to place */
	struct map pool_named; /* interned name to pool */
	struct map site_at;    /* pool and node to site */
	VEC(struct pool_block) blocks;
	uint32_t free_block; /* as in pool above */
	VEC(uint64_t) turns; /* of each thread */
};

void pool_table_deinit(struct pool_table *table);

/* The pool of a name, or a new one that has none. */
struct err *pool_table_pool(struct pool_table *table, const char *name, uint64_t address,
			    uint32_t *ret);
/* A pool's site of that stack, by its innermost node or RECORDING_NONE; made if it is new. */
struct err *pool_table_site(struct pool_table *table, uint32_t pool, uint32_t node, uint32_t *ret);

/*
 * A pool record of a thread, at that time. node: of its stack, RECORDING_NONE: empty, or none
 * recorded. The name of a name record is text that lives as long as the table.
 */
struct err *pool_table_take(struct pool_table *table, const struct decode_event *event,
			    uint32_t node, uint64_t ticks, uint32_t thread);

/* Everything was taken. */
void pool_table_finish(struct pool_table *table, const struct tick_clock *clock);

/*
 * Another way to fill it: a pool with its sites, which are the table's from now on (of its sum the
 * time of the peak counts alone), and at the end pool_table_show(), which sums up. false: no
 * memory, and the sites are gone.
 */
bool pool_table_add(struct pool_table *table, const struct recorded_pool *pool,
		    struct site_table *sites);
void pool_table_show(struct pool_table *table);

#endif
