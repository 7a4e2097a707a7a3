#include "analysis/block_store.h"

#include <stdlib.h>

#include "analysis/sample_weight.h"

/* The columns and their types, for what has to be done to each. */
#define COLUMNS(X)                                                                                 \
	X(allocated)                                                                               \
	X(freed)                                                                                   \
	X(address)                                                                                 \
	X(size)                                                                                    \
	X(usable)                                                                                  \
	X(successor)                                                                               \
	X(free_turn)                                                                               \
	X(site)                                                                                    \
	X(thread)                                                                                  \
	X(free_thread)                                                                             \
	X(tag)                                                                                     \
	X(entry)                                                                                   \
	X(heap_flags)

void block_store_deinit(struct block_store *store)
{
#define FREE(column) free(store->column);
	COLUMNS(FREE)
#undef FREE
	free(store->free_stack);
	live_table_deinit(&store->live);
	vec_deinit(&store->displaced);
	vec_deinit(&store->last);
}

static bool grow(struct block_store *store)
{
	size_t capacity = store->capacity;

	// Each column on its own, from the common capacity: it changes when all have grown.
#define GROW(column)                                                                               \
	capacity = store->capacity;                                                                \
	if (!vec_grow((void **)&store->column, &capacity, store->count, 1,                         \
		      sizeof(*store->column)))                                                     \
		return false;
	COLUMNS(GROW)
	if (store->free_stacks) {
		GROW(free_stack)
	}
#undef GROW
	store->capacity = capacity;
	return true;
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

/* Ends a block's life at that time. It has left the table of live ones, or is about to. */
static void end_block(struct block_store *store, struct site_table *sites,
		      const struct live_block *block, uint64_t ticks, uint32_t thread)
{
	bool temporary =
		store->last.items[block->thread] == block->number && store->temporary_known;

	site_table_died(sites, block->site, block->size, weight(store, block), temporary);
	if (store->wanted) {
		store->freed[block->number - 1] = ticks;
		store->free_turn[block->number - 1] = store->count;
		store->free_thread[block->number - 1] = thread;
	}
}

static struct err *displace(struct block_store *store, struct site_table *sites,
			    const struct live_block *old, uint64_t ticks, uint32_t thread)
{
	struct displaced_block displaced = {
		.address = old->address,
		.block = old->number - 1,
		.thread = thread,
	};

	if (__builtin_add_overflow(ticks, store->window, &displaced.deadline))
		displaced.deadline = UINT64_MAX;
	store->implicit_frees++;
	end_block(store, sites, old, ticks, RECORDING_NONE);
	return vec_push(&store->displaced, displaced) ? NULL : err_no_memory();
}

static struct err *add_row(struct block_store *store, const struct decode_event *event,
			   uint32_t site, uint64_t ticks, uint32_t thread, uint32_t tag)
{
	uint64_t row = store->count;

	if (row == store->capacity && !grow(store))
		return err_no_memory();
	store->allocated[row] = ticks;
	store->freed[row] = TIME_NEVER;
	store->address[row] = event->block.address;
	store->size[row] = event->block.size;
	store->usable[row] = event->block.usable;
	store->successor[row] = BLOCK_NONE;
	store->free_turn[row] = UINT64_MAX;
	store->site[row] = site;
	store->thread[row] = thread;
	store->free_thread[row] = RECORDING_NONE;
	store->tag[row] = tag;
	store->entry[row] = event->kind;
	store->heap_flags[row] = event->heap_flags;
	if (store->free_stacks)
		store->free_stack[row] = RECORDING_NONE;
	return NULL;
}

struct err *block_store_allocate(struct block_store *store, struct site_table *sites,
				 const struct decode_event *event, uint32_t node, uint64_t ticks,
				 uint32_t thread, uint32_t tag)
{
	struct live_block *live;
	uint32_t site = 0;
	struct err *err;

	err = site_table_at(sites, node, &site);
	if (!err && store->wanted)
		err = add_row(store, event, site, ticks, thread, tag);
	if (err)
		return err;
	live = live_table_put(&store->live, event->block.address);
	if (!live)
		return err_no_memory();
	if (__builtin_expect(live->number != 0, 0)) {
		err = displace(store, sites, live, ticks, thread);
		if (err)
			return err;
	}
	live->number = ++store->count;
	live->size = event->block.size;
	live->site = site;
	live->thread = thread;
	store->last.items[thread] = store->count;
	site_table_born(sites, site, live->size, weight(store, live), ticks);
	return NULL;
}

/*
 * Whether the free is the late one of a displaced block. Only another thread than the one that
 * was given the address can be late: within a thread records are in order.
 */
static uint64_t take_displaced(struct block_store *store, uint64_t address, uint64_t ticks,
			       uint32_t thread)
{
	struct displaced_block *displaced = store->displaced.items;

	while (store->first_displaced < store->displaced.count &&
	       displaced[store->first_displaced].deadline < ticks)
		store->first_displaced++;
	for (size_t i = store->first_displaced; i < store->displaced.count; i++) {
		if (displaced[i].address != address || displaced[i].thread == thread ||
		    displaced[i].block == BLOCK_NONE)
			continue;

		uint64_t block = displaced[i].block;

		displaced[i].block = BLOCK_NONE;
		return block;
	}
	if (store->first_displaced == store->displaced.count)
		store->first_displaced = store->displaced.count = 0;
	return BLOCK_NONE;
}

struct err *block_store_free(struct block_store *store, struct site_table *sites, uint64_t address,
			     uint64_t ticks, uint32_t thread, uint64_t *ret)
{
	const struct live_block *live;
	uint64_t block;

	if (__builtin_expect(store->displaced.count != 0, 0)) {
		block = take_displaced(store, address, ticks, thread);
		if (block != BLOCK_NONE) {
			store->implicit_frees--;
			if (store->wanted)
				store->free_thread[block] = thread;
			*ret = block;
			return NULL;
		}
	}
	live = live_table_take(&store->live, address);
	if (!live) {
		store->unknown_frees++;
		*ret = BLOCK_NONE;
		return NULL;
	}
	end_block(store, sites, live, ticks, thread);
	*ret = live->number - 1;
	return NULL;
}

void block_store_finish(struct block_store *store, const struct tick_clock *clock)
{
	live_table_deinit(&store->live);
	vec_deinit(&store->displaced);
	vec_deinit(&store->last);
	store->first_displaced = 0;
	if (!store->wanted)
		return;
	for (size_t i = 0; i < store->count; i++) {
		store->allocated[i] = tick_clock_ns(clock, store->allocated[i]);
		if (store->freed[i] != TIME_NEVER)
			store->freed[i] = tick_clock_ns(clock, store->freed[i]);
	}
	store->columns = (struct block_columns){
		.count = store->count,
		.allocated_ns = store->allocated,
		.freed_ns = store->freed,
		.address = store->address,
		.size = store->size,
		.usable = store->usable,
		.tag = store->tag,
		.site = store->site,
		.thread = store->thread,
		.free_thread = store->free_thread,
		.successor = store->successor,
		.free_turn = store->free_turn,
		.entry = store->entry,
		.heap_flags = store->heap_flags,
		.free_stack = store->free_stack,
	};
}
