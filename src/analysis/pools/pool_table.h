/*
 * Sums up what the program's own pools hold, as events are read.
 *
 *	place    an address that stands for a pool; knows its live blocks by their addresses
 *	pool     what views show: all places of one name, or a place without a name
 *
 * A block belongs to the pool that its place had when the block began, even if the place is renamed
 * later. Each pool has a site table of its own. So each has its own peak, and peaks of its sites
 * are their shares in that.
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
	uint64_t turn;   /* how many blocks its thread had got from pools, this one included */
	uint32_t pool;   /* of an unused one: the index of the next unused one plus 1, 0: none */
	uint32_t site;   /* index in its pool */
	uint32_t thread; /* index */
};

struct pool_place {
	uint64_t address;
	uint32_t pool;     /* RECORDING_NONE: neither named nor used yet */
	struct map blocks; /* from address to index of block */
};

/* Zeroed: empty. */
struct pool_table {
	VEC(struct recorded_pool) pools;
	VEC(struct site_table) sites; /* one for each pool */
	struct intern names;
	struct recording_summary all; /* live_bytes and leaked_blocks are kept up to date */
	bool births_wanted;
	const struct pool_birth *births; /* once all were taken: own_births, or in an index file */
	size_t birth_count;
	VEC(struct pool_birth) own_births; /* until then times are ticks */

	/* Not used after pool_table_finish(). */
	VEC(struct pool_place) places;
	struct map place_at;   /* from address to place */
	struct map pool_named; /* from interned name to pool */
	struct map site_at;    /* from pool and node to site */
	VEC(struct pool_block) blocks;
	uint32_t free_block; /* first unused block plus 1, 0: none */
	VEC(uint64_t) turns; /* for each thread */
};

void pool_table_deinit(struct pool_table *table);

/* *ret: the pool of that name; name "": a new pool without a name. address: that of a new pool. */
struct err *pool_table_pool(struct pool_table *table, const char *name, uint64_t address,
			    uint32_t *ret);
/*
 * *ret: a pool's site for a stack, by its innermost node or RECORDING_NONE. It is made if it is
 * new.
 */
struct err *pool_table_site(struct pool_table *table, uint32_t pool, uint32_t node, uint32_t *ret);

/*
 * Takes a pool record. node: of its stack; RECORDING_NONE: empty, or not recorded. The text of a
 * name record must live as long as the table.
 */
struct err *pool_table_take(struct pool_table *table, const struct decode_event *event,
			    uint32_t node, uint64_t ticks, uint32_t thread);

/* To be called when all records were taken. */
void pool_table_finish(struct pool_table *table, const struct tick_clock *clock);

/*
 * Another way to fill the table: adds a pool with its sites, which the table owns from now on. Of
 * pool->sum only the time of the peak is used. At the end pool_table_show() sums up. false: no
 * memory, and the sites are freed.
 */
bool pool_table_add(struct pool_table *table, const struct recorded_pool *pool,
		    struct site_table *sites);
void pool_table_show(struct pool_table *table);

#endif
