#include "analysis/block_store.h"

#include <stdlib.h>

/* The columns and their types, for what has to be done to each. */
#define COLUMNS(X)                                                                                 \
	X(allocated)                                                                               \
	X(freed)                                                                                   \
	X(address)                                                                                 \
	X(size)                                                                                    \
	X(usable)                                                                                  \
	X(successor)                                                                               \
	X(site)                                                                                    \
	X(thread)                                                                                  \
	X(free_thread)                                                                             \
	X(entry)                                                                                   \
	X(heap_flags)

void block_store_deinit(struct block_store *store)
{
#define FREE(column) free(store->column);
	COLUMNS(FREE)
#undef FREE
	map_deinit(&store->live);
	vec_deinit(&store->displaced);
	vec_deinit(&store->last);
	vec_deinit(&store->log);
	vec_deinit(&store->temporary);
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
#undef GROW
	store->capacity = capacity;
	return true;
}

struct err *block_store_threads(struct block_store *store, uint32_t count)
{
	if (!vec_reserve(&store->last, (size_t)count + 1))
		return err_no_memory();
	for (; store->last.count < count; store->last.count++)
		store->last.items[store->last.count] = BLOCK_NONE;
	return NULL;
}

/* Ends a block's life at that time. False: no memory. */
static bool end_block(struct block_store *store, uint64_t block, uint64_t ticks, uint32_t thread)
{
	store->freed[block] = ticks;
	store->free_thread[block] = thread;
	if (store->last.items[store->thread[block]] == block && !vec_push(&store->temporary, block))
		return false;
	return vec_push(&store->log, block << 1 | 1);
}

static struct err *displace(struct block_store *store, uint64_t old, uint64_t ticks,
			    uint32_t thread)
{
	struct displaced_block displaced = {
		.address = store->address[old],
		.block = old,
		.thread = thread,
	};

	if (__builtin_add_overflow(ticks, store->window, &displaced.deadline))
		displaced.deadline = UINT64_MAX;
	store->implicit_frees++;
	if (!end_block(store, old, ticks, RECORDING_NONE) ||
	    !vec_push(&store->displaced, displaced))
		return err_no_memory();
	return NULL;
}

struct err *block_store_allocate(struct block_store *store, const struct decode_event *event,
				 uint64_t ticks, uint32_t thread, uint32_t node, uint64_t *ret)
{
	uint64_t block = store->count;
	uint64_t *live = map_put(&store->live, event->block.address);
	struct err *err;

	if (!live || (block == store->capacity && !grow(store)))
		return err_no_memory();
	if (*live != MAP_NONE) {
		err = displace(store, *live, ticks, thread);
		if (err)
			return err;
	}
	*live = block;
	store->allocated[block] = ticks;
	store->freed[block] = TIME_NEVER;
	store->address[block] = event->block.address;
	store->size[block] = event->block.size;
	store->usable[block] = event->block.usable;
	store->successor[block] = BLOCK_NONE;
	store->site[block] = node;
	store->thread[block] = thread;
	store->free_thread[block] = RECORDING_NONE;
	store->entry[block] = event->kind;
	store->heap_flags[block] = event->heap_flags;
	store->count++;
	if (!vec_push(&store->log, block << 1))
		return err_no_memory();
	store->last.items[thread] = block;
	*ret = block;
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

struct err *block_store_free(struct block_store *store, uint64_t address, uint64_t ticks,
			     uint32_t thread, uint64_t *ret)
{
	uint64_t block = BLOCK_NONE;

	if (__builtin_expect(store->displaced.count != 0, 0))
		block = take_displaced(store, address, ticks, thread);
	if (block != BLOCK_NONE) {
		store->implicit_frees--;
		store->free_thread[block] = thread;
	} else {
		block = map_remove(&store->live, address);
		if (block == MAP_NONE) {
			store->unknown_frees++;
			*ret = BLOCK_NONE;
			return NULL;
		}
		if (!end_block(store, block, ticks, thread))
			return err_no_memory();
	}
	*ret = block;
	return NULL;
}

void block_store_finish(struct block_store *store, const struct tick_clock *clock)
{
	map_deinit(&store->live);
	vec_deinit(&store->displaced);
	vec_deinit(&store->last);
	store->first_displaced = 0;
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
		.site = store->site,
		.thread = store->thread,
		.free_thread = store->free_thread,
		.successor = store->successor,
		.entry = store->entry,
		.heap_flags = store->heap_flags,
	};
}
