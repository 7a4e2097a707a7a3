#include "analysis/blocks/block_store.h"

#include <string.h>

#include "analysis/blocks/block_times.h"
#include "analysis/sites/sample_weight.h"
#include "hosted/pages.h"

/*
 * How the columns grow: from ROWS_FIRST rows they double; above ROWS_DOUBLED they grow by a
 * quarter.
 */
#define ROWS_FIRST   1024
#define ROWS_DOUBLED ((size_t)4 << 20)

/* Another thread touches so many rows at a time, and so far ahead: 20 MB of columns. */
#define TOUCHED_ROWS ((size_t)256 << 10)

/*
 * So many blocks may wait for their late frees. Those of a program are few: a free is late by some
 * microseconds.
 */
#define DISPLACED_MAX 1024

#define BLOCKS_MAX (RECORDING_NONE - 1) /* a block's number, and the count of all, are turns */

void block_store_drop_rows(struct block_store *store)
{
	page_toucher_destroy(store->toucher);
	store->toucher = NULL;
	for (int i = 0; i < BLOCK_COLUMN_COUNT; i++)
		spill_deinit(&store->spills[i]);
	store->columns = (struct block_columns){0};
	store->rows = (struct block_rows){0};
	store->capacity = 0;
	store->wanted = false;
}

void block_store_deinit(struct block_store *store)
{
	block_store_drop_rows(store);
	address_table_deinit(&store->live);
	vec_deinit(&store->displaced);
	vec_deinit(&store->last);
	vec_deinit(&store->ended);
	facts_walk_destroy(store->facts);
}

void block_store_give_back(const struct block_store *store)
{
	for (int i = 0; i < BLOCK_COLUMN_COUNT; i++)
		spill_give_back(&store->spills[i]);
}

static bool grow_column(struct block_store *store, enum block_column column, size_t rows,
			size_t width)
{
	if ((column == BLOCK_COLUMN_free_stack && !store->free_stacks) ||
	    (column == BLOCK_COLUMN_tag && !store->tagged))
		return true;
	store->spills[column].early = store->followed;
	return spill_grow(&store->spills[column], rows * width);
}

static bool grow(struct block_store *store)
{
	size_t rows = store->capacity < ROWS_FIRST     ? ROWS_FIRST
		      : store->capacity < ROWS_DOUBLED ? store->capacity * 2
						       : store->capacity + store->capacity / 4;

	page_toucher_wait(store->toucher);
	// Some columns may have moved although another one could not grow.
#define BLOCK_COLUMN(name, type)                                                                   \
	if (!grow_column(store, BLOCK_COLUMN_##name, rows, sizeof(type)))                          \
		return false;                                                                      \
	store->rows.name = store->spills[BLOCK_COLUMN_##name].data;
	BLOCK_COLUMNS(BLOCK_COLUMN)
#undef BLOCK_COLUMN
	store->capacity = rows;
	return true;
}

/* Asks now and then to touch rows that will soon be written. */
static void touch_ahead(struct block_store *store, uint64_t row)
{
	struct page_range ranges[BLOCK_COLUMN_COUNT];
	size_t first = row + TOUCHED_ROWS, rows = TOUCHED_ROWS, count = 0;

	if (!store->toucher && !store->leisurely && store->capacity >= ROWS_DOUBLED)
		store->toucher = page_toucher_create();
	if (first >= store->capacity)
		return;
	if (rows > store->capacity - first)
		rows = store->capacity - first;
#define BLOCK_COLUMN(name, type)                                                                   \
	if (store->rows.name)                                                                      \
		ranges[count++] = (struct page_range){(char *)(store->rows.name + first),          \
						      rows * sizeof(type)};
	BLOCK_COLUMNS(BLOCK_COLUMN)
#undef BLOCK_COLUMN
	page_toucher_ask(store->toucher, ranges, count);
}

struct err *block_store_threads(struct block_store *store, uint32_t count)
{
	if (!vec_reserve(&store->last, (size_t)count + 1))
		return err_no_memory();
	for (; store->last.count < count; store->last.count++)
		store->last.items[store->last.count] = 0;
	return NULL;
}

/* How many blocks this one stands for. */
static inline uint64_t weight(const struct block_store *store, const struct live_block *block)
{
	if (__builtin_expect(!store->sample_mean, 1))
		return 1;
	return sample_weight(store->sample_mean, block->size, block->number);
}

/* Ends a block at that time. It has left the table of live blocks, or is about to. */
static struct err *end_block(struct block_store *store, struct site_table *sites,
			     const struct live_block *block, uint64_t ticks, uint32_t thread)
{
	bool temporary =
		store->last.items[block->thread] == block->number && store->temporary_known;
	uint64_t count = weight(store, block);

	site_table_died(sites, block->site, block->size, count, temporary);
	if (store->facts)
		facts_walk_died(store->facts, sites, block, ticks, thread, count);
	if (store->wanted) {
		store->rows.freed_ns[block->number - 1] = ticks;
		store->rows.free_turn[block->number - 1] = (uint32_t)store->count;
		store->rows.free_thread[block->number - 1] = thread;
	}
	if (__builtin_expect(store->ended_wanted, 0) &&
	    !vec_push(&store->ended, (uint32_t)(block->number - 1)))
		return err_no_memory();
	return NULL;
}

static struct err *displace(struct block_store *store, struct site_table *sites,
			    const struct live_block *old, uint64_t ticks, uint32_t thread)
{
	struct displaced_block displaced = {*old, ticks, thread};
	struct err *err;

	store->implicit_frees++;
	err = end_block(store, sites, old, ticks, RECORDING_NONE);
	if (!err && !vec_push(&store->displaced, displaced))
		err = err_no_memory();
	return err;
}

/* Begins to keep tags, at the first block with one: those before it had none. */
static struct err *begin_tags(struct block_store *store)
{
	store->tagged = true;
	if (!grow_column(store, BLOCK_COLUMN_tag, store->capacity, sizeof(uint32_t))) {
		store->tagged = false;
		return err_no_memory();
	}
	store->rows.tag = store->spills[BLOCK_COLUMN_tag].data;
	memset(store->rows.tag, 0, store->count * sizeof(uint32_t));
	return NULL;
}

static uint32_t slack_of(const struct decode_event *event)
{
	uint64_t slack = event->block.usable - event->block.size;

	return slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX;
}

static struct err *add_row(struct block_store *store, const struct decode_event *event,
			   uint32_t site, uint64_t ticks, uint32_t thread, uint32_t tag)
{
	const struct block_rows *rows = &store->rows;
	uint64_t row = store->count;

	if (__builtin_expect(row == BLOCKS_MAX, 0))
		return err_create("more than %u allocations cannot be looked at one by one",
				  BLOCKS_MAX);
	if (row == store->capacity && !grow(store))
		return err_no_memory();
	if (__builtin_expect(tag && !store->tagged, 0)) {
		struct err *err = begin_tags(store);

		if (err)
			return err;
	}
	if (row % TOUCHED_ROWS == 0)
		touch_ahead(store, row);
	rows->allocated_ns[row] = ticks;
	rows->freed_ns[row] = TIME_NEVER;
	rows->address[row] = event->block.address;
	rows->size[row] = event->block.size;
	rows->slack[row] = slack_of(event);
	rows->successor[row] = RECORDING_NONE;
	rows->free_turn[row] = RECORDING_NONE;
	rows->site[row] = site;
	rows->thread[row] = thread;
	rows->free_thread[row] = RECORDING_NONE;
	rows->entry[row] = event->kind;
	rows->heap_flags[row] = event->heap_flags;
	if (store->tagged)
		rows->tag[row] = tag;
	if (store->free_stacks)
		rows->free_stack[row] = RECORDING_NONE;
	return NULL;
}

/* Fills in the block, and makes it the latest. */
static inline void begin_block(struct block_store *store, struct live_block *block,
			       const struct decode_event *event, uint64_t ticks, uint32_t site,
			       uint32_t thread)
{
	block->number = ++store->count;
	block->entry = event->kind;
	block->large = 0;
	block->size = event->block.size;
	block->ticks = ticks;
	block->site = site;
	block->thread = thread;
	block->slack = slack_of(event);
	block->chained = 0;
	store->last.items[thread] = store->count;
	store->latest = block;
	if (block->size > store->largest)
		store->largest = block->size;
}

struct err *block_store_allocate(struct block_store *store, struct site_table *sites,
				 const struct decode_event *event, uint32_t node, uint64_t ticks,
				 uint32_t thread, uint32_t tag)
{
	struct live_block *live;
	uint32_t site = 0;
	uint64_t count;
	struct err *err;

	err = site_table_at(sites, node, &site);
	if (!err && store->wanted)
		err = add_row(store, event, site, ticks, thread, tag);
	if (err)
		return err;
	if (store->facts)
		facts_walk_pass(store->facts, sites, &store->live, ticks, store->count);
	live = address_table_put(&store->live, event->block.address);
	if (!live)
		return err_no_memory();
	if (__builtin_expect(live->number != 0, 0)) {
		err = displace(store, sites, live, ticks, thread);
		if (err)
			return err;
	}
	begin_block(store, live, event, ticks, site, thread);
	count = weight(store, live);
	if (store->facts)
		facts_walk_begin(store->facts, sites, live, count);
	site_table_born(sites, site, live->size, count, ticks, store->count - 1);
	if (store->facts)
		facts_walk_born(store->facts, sites, live, count);
	return NULL;
}

struct err *block_store_add_lasting(struct block_store *store, struct site_table *sites,
				    const struct decode_event *event, uint32_t node, uint64_t ticks,
				    uint32_t thread)
{
	uint32_t site = 0;
	struct err *err = site_table_at(sites, node, &site);

	if (!err && store->wanted)
		err = add_row(store, event, site, ticks, thread, 0);
	if (!err)
		store->last.items[thread] = ++store->count;
	return err;
}

bool block_store_set_window(struct block_store *store, uint64_t ticks)
{
	store->window = ticks;
	if (!store->displaced.items || ticks < store->narrowest)
		store->narrowest = ticks;
	return store->latest_free <= ticks && (!store->too_late || store->too_late > ticks) &&
	       ticks / 2 <= store->narrowest;
}

/* The window may still turn out to be twice as long: block_store_set_window(). */
static bool is_forgotten(const struct block_store *store, const struct displaced_block *displaced,
			 uint64_t ticks)
{
	return (ticks - displaced->ticks) / 2 > store->narrowest;
}

/* Whether a free of a displaced block, so many ticks later, is within the window. */
static bool is_in_time(struct block_store *store, uint64_t late)
{
	if (late > store->window) {
		if (!store->too_late || late < store->too_late)
			store->too_late = late;
		return false;
	}
	if (late > store->latest_free)
		store->latest_free = late;
	return true;
}

/*
 * The displaced block that a late free belongs to; NULL: none. Only another thread than the one
 * that got the address can be late: within a thread records are in order.
 */
static const struct live_block *take_displaced(struct block_store *store, uint64_t address,
					       uint64_t ticks, uint32_t thread)
{
	struct displaced_block *displaced = store->displaced.items;

	if (store->displaced.count - store->first_displaced > DISPLACED_MAX)
		store->first_displaced = store->displaced.count - DISPLACED_MAX;
	while (store->first_displaced < store->displaced.count &&
	       is_forgotten(store, &displaced[store->first_displaced], ticks))
		store->first_displaced++;
	for (size_t i = store->first_displaced; i < store->displaced.count; i++) {
		struct live_block *block = &displaced[i].block;

		if (block->address != address || displaced[i].thread == thread || !block->live ||
		    !is_in_time(store, ticks - displaced[i].ticks))
			continue;
		block->live = 0;
		return block;
	}
	if (store->first_displaced == store->displaced.count)
		store->first_displaced = store->displaced.count = 0;
	return NULL;
}

/* The free of a block that has ended already was met: by whom it is known now. */
static void free_late(struct block_store *store, struct site_table *sites,
		      const struct live_block *block, uint32_t thread)
{
	store->implicit_frees--;
	if (store->wanted)
		store->rows.free_thread[block->number - 1] = thread;
	if (store->facts && block->thread != thread)
		facts_walk_hand(store->facts, sites, block, thread, weight(store, block));
}

struct err *block_store_free(struct block_store *store, struct site_table *sites, uint64_t address,
			     uint64_t ticks, uint32_t thread, const struct live_block **ret)
{
	if (store->facts)
		facts_walk_pass(store->facts, sites, &store->live, ticks, store->count);
	if (__builtin_expect(store->displaced.count != 0, 0)) {
		*ret = take_displaced(store, address, ticks, thread);
		if (*ret) {
			free_late(store, sites, *ret, thread);
			return NULL;
		}
	}
	*ret = address_table_take(&store->live, address);
	if (!*ret) {
		store->unknown_frees++;
		return NULL;
	}
	return end_block(store, sites, *ret, ticks, thread);
}

void block_store_succeed(struct block_store *store, const struct live_block *old)
{
	if (store->wanted)
		store->rows.successor[old->number - 1] = (uint32_t)(store->latest->number - 1);
	if (store->facts)
		facts_walk_succeed(store->facts, old, store->latest, weight(store, old));
}

void block_store_finish(struct block_store *store, const struct tick_clock *clock)
{
	page_toucher_destroy(store->toucher);
	store->toucher = NULL;
	address_table_deinit(&store->live);
	vec_deinit(&store->displaced);
	vec_deinit(&store->last);
	vec_deinit(&store->ended);
	store->first_displaced = 0;
	if (!store->wanted)
		return;
	block_times_convert(clock, &store->rows, 0, store->count, store->rows.allocated_ns,
			    store->rows.freed_ns);
	store->columns.count = store->count;
#define BLOCK_COLUMN(name, type)                                                                   \
	spill_settle(&store->spills[BLOCK_COLUMN_##name], store->count * sizeof(type));            \
	store->columns.name = store->rows.name;
	BLOCK_COLUMNS(BLOCK_COLUMN)
#undef BLOCK_COLUMN
}
