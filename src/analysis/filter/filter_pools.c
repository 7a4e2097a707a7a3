#include "analysis/filter/filter_pools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/first_where.h"
#include "hosted/cleanup.h"

static int compare(const void *left, const void *right)
{
	const struct pool_birth *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static bool is_called(const struct recorded_pool *pool, const char *name)
{
	char address[32];

	if (!name)
		return true;
	if (*pool->name)
		return strcmp(pool->name, name) == 0;
	snprintf(address, sizeof(address), "0x%jx", (uintmax_t)pool->address);
	return strcmp(address, name) == 0;
}

struct err *filter_pool_create(const struct recording *recording, const char *name,
			       struct filter_pool *ret)
{
	uint32_t pool_count;
	const struct recorded_pool *pools = recording_pools(recording, &pool_count);
	auto_free uint8_t *wanted = malloc((size_t)pool_count + 1);
	const struct pool_birth *births;
	size_t count;

	births = recording_pool_births(recording, &count);
	ret->births = malloc((count + 1) * sizeof(*ret->births));
	if (!wanted || !ret->births)
		return err_no_memory();
	for (uint32_t i = 0; i < pool_count; i++)
		wanted[i] = is_called(&pools[i], name);
	for (size_t i = 0; i < count; i++)
		if (wanted[births[i].pool])
			ret->births[ret->count++] = births[i];
	qsort(ret->births, ret->count, sizeof(*ret->births), compare);
	return NULL;
}

void filter_pool_deinit(struct filter_pool *pool)
{
	free(pool->births);
	*pool = (struct filter_pool){0};
}

/* The first birth that is not before that address and time. */
static size_t first_from(const struct filter_pool *pool, size_t from, uint64_t address,
			 uint64_t time_ns)
{
	const struct pool_birth wanted = {.address = address, .time_ns = time_ns};

	return first_where(i, from, pool->count, compare(&pool->births[i], &wanted) >= 0);
}

/*
 * Goes from address to address. A slab hands out the same address again and again, and most of
 * these times may belong to other blocks at the same place.
 */
const struct pool_birth *filter_pool_find(const struct filter_pool *pool,
					  const struct block_columns *blocks, uint64_t block)
{
	uint64_t address = blocks->address[block];
	uint64_t usable = blocks->size[block] + blocks->slack[block];
	uint64_t allocated_ns = blocks->allocated_ns[block], freed_ns = blocks->freed_ns[block];
	size_t i = first_from(pool, 0, address, allocated_ns);

	while (i < pool->count && pool->births[i].address - address < usable) {
		const struct pool_birth *birth = &pool->births[i];

		if (birth->time_ns < allocated_ns)
			i = first_from(pool, i + 1, birth->address, allocated_ns);
		else if (birth->time_ns < freed_ns)
			return birth;
		else
			i = first_from(pool, i + 1, birth->address + 1, allocated_ns);
	}
	return NULL;
}
