#include "analysis/pools/pool_table.h"

#include <string.h>

#include "analysis/load/tick_clock.h"

static void drop_workings(struct pool_table *table)
{
	for (size_t i = 0; i < table->places.count; i++)
		map_deinit(&table->places.items[i].blocks);
	vec_deinit(&table->places);
	vec_deinit(&table->blocks);
	vec_deinit(&table->turns);
	map_deinit(&table->place_at);
	map_deinit(&table->pool_named);
	map_deinit(&table->site_at);
}

void pool_table_deinit(struct pool_table *table)
{
	drop_workings(table);
	for (size_t i = 0; i < table->sites.count; i++)
		site_table_deinit(&table->sites.items[i]);
	vec_deinit(&table->sites);
	vec_deinit(&table->pools);
	vec_deinit(&table->own_births);
	intern_deinit(&table->names);
}

bool pool_table_add(struct pool_table *table, const struct recorded_pool *pool,
		    struct site_table *sites)
{
	if (vec_reserve(&table->sites, 1) && vec_push(&table->pools, *pool)) {
		table->sites.items[table->sites.count++] = *sites;
		return true;
	}
	site_table_deinit(sites);
	return false;
}

/* Adds a pool. name: interned; "": it shares its name with no other. */
static struct err *add_pool(struct pool_table *table, const char *name, uint64_t address,
			    uint32_t *ret)
{
	struct recorded_pool pool = {
		.name = name,
		.address = address,
		.wrong_stack = RECORDING_NONE,
	};
	struct site_table sites = {0};

	if (table->pools.count >= RECORDING_NONE || !pool_table_add(table, &pool, &sites))
		return err_no_memory();
	*ret = (uint32_t)table->pools.count - 1;
	return NULL;
}

struct err *pool_table_pool(struct pool_table *table, const char *name, uint64_t address,
			    uint32_t *ret)
{
	const char *key = intern_text(&table->names, name);
	uint64_t *known;
	struct err *err;

	if (!key)
		return err_no_memory();
	if (!*key)
		return add_pool(table, key, address, ret);
	known = map_put(&table->pool_named, (uintptr_t)key);
	if (!known)
		return err_no_memory();
	if (*known == MAP_NONE) {
		err = add_pool(table, key, address, ret);
		if (err)
			return err;
		*known = *ret;
	}
	*ret = (uint32_t)*known;
	return NULL;
}

struct err *pool_table_site(struct pool_table *table, uint32_t pool, uint32_t node, uint32_t *ret)
{
	uint64_t *known = map_put(&table->site_at, (uint64_t)pool << 32 | node);
	struct err *err;

	if (!known)
		return err_no_memory();
	if (*known == MAP_NONE) {
		err = site_table_append(&table->sites.items[pool], node, ret);
		if (err)
			return err;
		*known = *ret;
	}
	*ret = (uint32_t)*known;
	return NULL;
}

/* *ret: the place at an address, valid until the next call. */
static struct err *find_place(struct pool_table *table, uint64_t address, struct pool_place **ret)
{
	struct pool_place place = {.address = address, .pool = RECORDING_NONE};
	uint64_t *known = map_put(&table->place_at, address);

	if (!known)
		return err_no_memory();
	if (*known == MAP_NONE) {
		if (!vec_push(&table->places, place))
			return err_no_memory();
		*known = table->places.count - 1;
	}
	*ret = &table->places.items[*known];
	return NULL;
}

/* The same, and gives it a pool without a name if it has none. */
static struct err *find_pool(struct pool_table *table, uint64_t address, struct pool_place **ret)
{
	struct err *err = find_place(table, address, ret);

	if (err || (*ret)->pool != RECORDING_NONE)
		return err;
	err = pool_table_pool(table, "", address, &(*ret)->pool);
	if (!err)
		table->pools.items[(*ret)->pool].places++;
	return err;
}

static struct err *take_name(struct pool_table *table, const struct decode_event *event)
{
	struct pool_place *place;
	uint32_t pool = 0;
	struct err *err;

	if (!*event->pool.name.data)
		return NULL;
	err = find_place(table, event->pool.pool, &place);
	if (!err)
		err = pool_table_pool(table, event->pool.name.data, event->pool.pool, &pool);
	if (err || place->pool == pool)
		return err;
	place->pool = pool;
	table->pools.items[pool].places++;
	return NULL;
}

enum end {
	END_FREE,
	END_RESET,
	END_IMPLICIT,
};

/* Ends a block. It counts for the pool that it came from, whatever its place is called now. */
static void end_block(struct pool_table *table, uint32_t index, enum end end)
{
	struct pool_block *block = &table->blocks.items[index];
	struct recorded_pool *pool = &table->pools.items[block->pool];
	bool temporary = end == END_FREE && table->turns.items[block->thread] == block->turn;

	pool->frees += end == END_FREE;
	pool->implicit_frees += end == END_IMPLICIT;
	site_table_died(&table->sites.items[block->pool], block->site, block->size, 1, temporary);
	table->all.live_bytes -= block->size;
	table->all.leaked_blocks--;
	block->pool = table->free_block;
	table->free_block = index + 1;
}

/* *ret: room for a block, with anything in it. */
static struct err *new_block(struct pool_table *table, uint32_t *ret)
{
	if (table->free_block) {
		*ret = table->free_block - 1;
		table->free_block = table->blocks.items[*ret].pool;
		return NULL;
	}
	if (table->blocks.count >= RECORDING_NONE || !vec_reserve(&table->blocks, 1))
		return err_no_memory();
	*ret = (uint32_t)table->blocks.count++;
	return NULL;
}

static struct err *next_turn(struct pool_table *table, uint32_t thread, uint64_t *ret)
{
	while (table->turns.count <= thread)
		if (!vec_push(&table->turns, 0))
			return err_no_memory();
	*ret = ++table->turns.items[thread];
	return NULL;
}

static void add_live(struct recording_summary *all, uint64_t size, uint64_t ticks)
{
	all->live_bytes += size;
	all->leaked_blocks++;
	if (all->live_bytes <= all->peak_bytes)
		return;
	all->peak_bytes = all->live_bytes;
	all->peak_blocks = all->leaked_blocks;
	all->peak_time_ns = ticks;
}

static struct err *take_allocation(struct pool_table *table, struct pool_place *place,
				   const struct decode_event *event, uint32_t node, uint64_t ticks,
				   uint32_t thread)
{
	struct pool_block block = {
		.size = event->pool.size,
		.pool = place->pool,
		.thread = thread,
	};
	uint32_t index = 0;
	uint64_t *known;
	struct err *err;

	err = next_turn(table, thread, &block.turn);
	if (!err)
		err = pool_table_site(table, block.pool, node, &block.site);
	if (err)
		return err;
	known = map_put(&place->blocks, event->pool.address);
	if (!known)
		return err_no_memory();
	if (*known != MAP_NONE)
		end_block(table, (uint32_t)*known, END_IMPLICIT);
	err = new_block(table, &index);
	if (err)
		return err;
	*known = index;
	table->blocks.items[index] = block;
	add_live(&table->all, block.size, ticks);
	site_table_born(&table->sites.items[block.pool], block.site, block.size, 1, ticks, index);
	return NULL;
}

static void take_free(struct pool_table *table, struct pool_place *place,
		      const struct decode_event *event, uint32_t node)
{
	struct recorded_pool *pool = &table->pools.items[place->pool];
	uint64_t index = map_remove(&place->blocks, event->pool.address);

	if (index != MAP_NONE) {
		end_block(table, (uint32_t)index, END_FREE);
		return;
	}
	if (!pool->wrong_frees++) {
		pool->wrong_address = event->pool.address;
		pool->wrong_stack = node;
	}
}

/*
 * Ends all blocks of a place. The map is freed, too: one that was large would be walked through in
 * full each time.
 */
static void take_reset(struct pool_table *table, struct pool_place *place)
{
	struct map *blocks = &place->blocks;

	table->pools.items[place->pool].resets++;
	for (size_t i = 0; i < map_size(blocks); i++)
		if (blocks->entries[i].value != MAP_NONE)
			end_block(table, (uint32_t)blocks->entries[i].value, END_RESET);
	map_deinit(blocks);
}

static struct err *note_birth(struct pool_table *table, const struct pool_place *place,
			      const struct decode_event *event, uint64_t ticks)
{
	struct pool_birth birth = {
		.address = event->pool.address,
		.time_ns = ticks,
		.pool = place->pool,
	};

	return vec_push(&table->own_births, birth) ? NULL : err_no_memory();
}

struct err *pool_table_take(struct pool_table *table, const struct decode_event *event,
			    uint32_t node, uint64_t ticks, uint32_t thread)
{
	struct pool_place *place;
	struct err *err;

	if (event->kind == TRACE_RECORD_POOL_NAME)
		return take_name(table, event);
	err = find_pool(table, event->pool.pool, &place);
	if (err)
		return err;
	if (event->kind == TRACE_RECORD_POOL_ALLOC)
		err = take_allocation(table, place, event, node, ticks, thread);
	else if (event->kind == TRACE_RECORD_POOL_FREE)
		take_free(table, place, event, node);
	else
		take_reset(table, place);
	if (err || event->kind != TRACE_RECORD_POOL_ALLOC || !table->births_wanted)
		return err;
	return note_birth(table, place, event, ticks);
}

/* The pools' peaks may be at different times. The peak of all together is known separately. */
void pool_table_show(struct pool_table *table)
{
	struct recording_summary all = {
		.peak_bytes = table->all.peak_bytes,
		.peak_blocks = table->all.peak_blocks,
		.peak_time_ns = table->all.peak_time_ns,
	};

	for (size_t i = 0; i < table->pools.count; i++) {
		struct recorded_pool *pool = &table->pools.items[i];
		const struct site_table *sites = &table->sites.items[i];
		uint64_t peak_time_ns = pool->sum.peak_time_ns;

		pool->sites = sites->sites.items;
		pool->site_count = (uint32_t)sites->sites.count;
		pool->sum = site_table_sum(sites);
		pool->sum.peak_time_ns = peak_time_ns;
		all.calls += pool->sum.calls;
		all.total_bytes += pool->sum.total_bytes;
		all.leaked_bytes += pool->sum.leaked_bytes;
		all.leaked_blocks += pool->sum.leaked_blocks;
		all.temporary += pool->sum.temporary;
	}
	all.live_bytes = all.leaked_bytes;
	table->all = all;
}

void pool_table_finish(struct pool_table *table, const struct tick_clock *clock)
{
	for (size_t i = 0; i < table->pools.count; i++) {
		struct site_table *sites = &table->sites.items[i];
		struct recording_summary *sum = &table->pools.items[i].sum;

		site_table_finish(sites, sum);
		sum->peak_time_ns = tick_clock_ns(clock, sites->peak_ticks);
	}
	table->all.peak_time_ns = tick_clock_ns(clock, table->all.peak_time_ns);
	for (size_t i = 0; i < table->own_births.count; i++)
		table->own_births.items[i].time_ns =
			tick_clock_ns(clock, table->own_births.items[i].time_ns);
	table->births = table->own_births.items;
	table->birth_count = table->own_births.count;
	pool_table_show(table);
	drop_workings(table);
}
