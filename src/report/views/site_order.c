#include "report/views/site_order.h"

#include <stdlib.h>

struct key {
	uint64_t value;
	uint64_t total;
	uint32_t index;
};

static int compare_keys(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	if (a->value != b->value)
		return a->value < b->value ? 1 : -1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* The sites to be sorted. Zeroed: none yet. */
struct keys {
	struct key *items;
	uint32_t count;
	enum site_order_kept kept;
};

static struct err *keys_create(uint32_t most, enum site_order_kept kept, struct keys *ret)
{
	*ret = (struct keys){.items = calloc((size_t)most + 1, sizeof(*ret->items)), .kept = kept};
	return ret->items ? NULL : err_no_memory();
}

static void add_key(struct keys *keys, uint64_t value, uint64_t total, uint32_t index)
{
	if (value || keys->kept == SITE_ORDER_ALL)
		keys->items[keys->count++] = (struct key){value, total, index};
}

/* Sorts the keys and returns their indices. The keys are freed. */
static struct err *take_order(struct keys *keys, uint32_t **ret, uint32_t *count)
{
	uint32_t *order = calloc((size_t)keys->count + 1, sizeof(*order));

	if (order) {
		qsort(keys->items, keys->count, sizeof(*keys->items), compare_keys);
		for (uint32_t i = 0; i < keys->count; i++)
			order[i] = keys->items[i].index;
		*ret = order;
		*count = keys->count;
	}
	free(keys->items);
	return order ? NULL : err_no_memory();
}

struct err *site_order_create(const struct site *sites, uint32_t site_count, enum metric metric,
			      enum site_order_kept kept, uint32_t **ret, uint32_t *count)
{
	struct keys keys;
	struct err *err = keys_create(site_count, kept, &keys);

	if (err)
		return err;
	for (uint32_t i = 0; i < site_count; i++)
		add_key(&keys, metric_of_site(metric, &sites[i]), sites[i].total_bytes, i);
	return take_order(&keys, ret, count);
}

struct err *site_order_live(const struct site *sites, uint32_t site_count, bool by_blocks,
			    uint32_t **ret, uint32_t *count)
{
	struct keys keys;
	struct err *err = keys_create(site_count, SITE_ORDER_ALL, &keys);

	if (err)
		return err;
	for (uint32_t i = 0; i < site_count; i++) {
		uint64_t blocks = sites[i].leaked_blocks, bytes = sites[i].leaked_bytes;

		// A block of no bytes is live, too.
		if (blocks)
			add_key(&keys, by_blocks ? blocks : bytes, by_blocks ? bytes : blocks, i);
	}
	return take_order(&keys, ret, count);
}

struct err *site_order_pools(const struct recording *recording, enum metric metric,
			     enum site_order_kept kept, uint32_t **ret, uint32_t *count)
{
	uint32_t pool_count;
	const struct recorded_pool *pools = recording_pools(recording, &pool_count);
	struct keys keys;
	struct err *err = keys_create(pool_count, kept, &keys);

	if (err)
		return err;
	for (uint32_t i = 0; i < pool_count; i++)
		add_key(&keys, metric_of_sum(metric, &pools[i].sum), pools[i].sum.total_bytes, i);
	return take_order(&keys, ret, count);
}
