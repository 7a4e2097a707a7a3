#include "analysis/blocks/block_cache.h"

#include <stdlib.h>

#include "analysis/blocks/block_order.h"
#include "analysis/recording_data.h"

struct err *block_cache_create(struct block_cache **ret)
{
	struct block_cache *views = calloc(1, sizeof(*views));

	if (!views)
		return err_no_memory();
	pthread_mutex_init(&views->lock, NULL);
	*ret = views;
	return NULL;
}

void block_cache_destroy(struct block_cache *views)
{
	if (!views)
		return;
	for (int i = 0; i < BLOCK_ORDER_COUNT; i++) {
		spill_deinit(&views->key_memory[i]);
		spill_deinit(&views->order_memory[i]);
	}
	spill_deinit(&views->chain_memory);
	spill_deinit(&views->last_memory);
	spill_deinit(&views->position_memory);
	spill_deinit(&views->span_memory);
	pthread_mutex_destroy(&views->lock);
	free(views);
}

static void fill_keys(const struct block_columns *blocks, enum block_order order, uint64_t *keys)
{
	for (uint64_t i = 0; i < blocks->count; i++)
		keys[i] = order == BLOCK_ORDER_SLACK ? blocks->slack[i]
			  : blocks->freed_ns[i] == TIME_NEVER
				  ? TIME_NEVER
				  : blocks->freed_ns[i] - blocks->allocated_ns[i];
}

/* Call it under the lock. */
static struct err *find_keys(const struct block_columns *blocks, struct block_cache *views,
			     enum block_order order)
{
	struct spill *memory = &views->key_memory[order];
	size_t size = blocks->count * sizeof(uint64_t);

	if (order < BLOCK_ORDER_STORED) {
		views->keys[order] = order == BLOCK_ORDER_SIZE ? blocks->size : blocks->address;
	} else if (!views->keys[order]) {
		if (!spill_grow(memory, size))
			return err_no_memory();
		fill_keys(blocks, order, memory->data);
		spill_settle(memory, size);
		views->keys[order] = memory->data;
	}
	return NULL;
}

struct err *recording_block_keys(const struct recording *recording, enum block_order order,
				 const uint64_t **ret)
{
	struct block_cache *views = recording->blocks->cache;
	struct err *err;

	*ret = NULL;
	if (!recording->blocks->store.columns.count)
		return NULL;
	pthread_mutex_lock(&views->lock);
	err = find_keys(&recording->blocks->store.columns, views, order);
	*ret = views->keys[order];
	pthread_mutex_unlock(&views->lock);
	return err;
}

struct err *recording_block_order(const struct recording *recording, enum block_order order,
				  const uint32_t **ret)
{
	const struct block_columns *blocks = &recording->blocks->store.columns;
	struct block_cache *views = recording->blocks->cache;
	struct err *err = NULL;

	*ret = NULL;
	if (!blocks->count)
		return NULL;
	pthread_mutex_lock(&views->lock);
	if (!views->orders[order]) {
		err = find_keys(blocks, views, order);
		if (!err)
			err = block_order_make(views->keys[order], blocks->count,
					       &views->order_memory[order]);
		if (!err)
			views->orders[order] = views->order_memory[order].data;
	}
	if (!err)
		*ret = views->orders[order];
	pthread_mutex_unlock(&views->lock);
	return err;
}

bool recording_has_block_order(const struct recording *recording, enum block_order order)
{
	struct block_cache *views = recording->blocks->cache;
	bool has;

	pthread_mutex_lock(&views->lock);
	has = views->orders[order];
	pthread_mutex_unlock(&views->lock);
	return has;
}

static struct err *make_chains(const struct block_columns *blocks, struct block_cache *views)
{
	uint32_t *chains;

	if (!spill_grow(&views->chain_memory, blocks->count * sizeof(*chains)))
		return err_no_memory();
	chains = views->chain_memory.data;
	for (uint64_t i = 0; i < blocks->count; i++)
		chains[i] = (uint32_t)i;
	// A successor stands behind its predecessor.
	for (uint64_t i = 0; i < blocks->count; i++)
		if (blocks->successor[i] < blocks->count)
			chains[blocks->successor[i]] = chains[i];
	spill_settle(&views->chain_memory, blocks->count * sizeof(*chains));
	views->chains = chains;
	return NULL;
}

struct err *recording_block_chains(const struct recording *recording, const uint32_t **ret)
{
	struct block_cache *views = recording->blocks->cache;
	struct err *err = NULL;

	*ret = NULL;
	if (!recording->blocks->store.columns.count)
		return NULL;
	pthread_mutex_lock(&views->lock);
	if (!views->chains)
		err = make_chains(&recording->blocks->store.columns, views);
	*ret = views->chains;
	pthread_mutex_unlock(&views->lock);
	return err;
}

static bool has_chains(const struct block_columns *blocks)
{
	for (uint64_t i = 0; i < blocks->count; i++)
		if (blocks->successor[i] < blocks->count)
			return true;
	return false;
}

static struct err *make_places(const struct block_columns *blocks, struct block_cache *views)
{
	size_t size = blocks->count * sizeof(uint32_t);
	uint32_t *last, *position;

	if (!spill_grow(&views->last_memory, size) || !spill_grow(&views->position_memory, size))
		return err_no_memory();
	last = views->last_memory.data;
	position = views->position_memory.data;
	for (uint64_t i = 0; i < blocks->count; i++)
		position[i] = 0;
	for (uint64_t i = 0; i < blocks->count; i++)
		if (blocks->successor[i] < blocks->count)
			position[blocks->successor[i]] = position[i] + 1;
	for (uint64_t i = blocks->count; i-- > 0;)
		last[i] = blocks->successor[i] < blocks->count ? last[blocks->successor[i]]
							       : (uint32_t)i;
	spill_settle(&views->last_memory, size);
	spill_settle(&views->position_memory, size);
	views->places = (struct chain_places){last, position};
	return NULL;
}

struct err *recording_chain_places(const struct recording *recording, struct chain_places *ret)
{
	const struct block_columns *blocks = &recording->blocks->store.columns;
	struct block_cache *views = recording->blocks->cache;
	struct err *err = NULL;

	*ret = (struct chain_places){0};
	if (!blocks->count)
		return NULL;
	pthread_mutex_lock(&views->lock);
	if (!views->placed && has_chains(blocks))
		err = make_places(blocks, views);
	views->placed = !err;
	*ret = views->places;
	pthread_mutex_unlock(&views->lock);
	return err;
}
