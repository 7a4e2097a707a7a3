#include "ebpf/kernel/slab_caches.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ebpf/bpf_map.h"
#include "ebpf/kernel/kernel_tracer_data.h"
#include "hosted/cleanup.h"
// Made by bpftool out of bpf/kernel.bpf.c; it names types of kernel_shared.h.
#include <kernel.skel.h>

/* Slabs that a processor may have for itself, in part free. */
#define SLABS_PER_PROCESSOR 4

void slab_caches_deinit(struct slab_caches *caches)
{
	vec_deinit(&caches->list);
}

struct err *slab_caches_read(struct slab_caches *caches)
{
	auto_fclose FILE *file = fopen("/proc/slabinfo", "re");
	char line[512];

	if (!file)
		return err_create_errno(errno, "/proc/slabinfo");
	while (fgets(line, sizeof(line), file)) {
		struct slab_cache cache;

		// name active_objs num_objs objsize objperslab …
		if (sscanf(line, "%63s %" SCNu64 " %*u %u %u", cache.name, &cache.objects,
			   &cache.object_size, &cache.per_slab) != 4)
			continue;
		if (!vec_push(&caches->list, cache))
			return err_no_memory();
	}
	return NULL;
}

const struct slab_cache *slab_caches_find(const struct slab_caches *caches, const char *name)
{
	for (size_t i = 0; i < caches->list.count; i++)
		if (!strcmp(caches->list.items[i].name, name))
			return &caches->list.items[i];
	return NULL;
}

uint64_t slab_caches_of_kmalloc(const struct slab_caches *caches, uint64_t size)
{
	uint64_t objects = 0;

	// kmalloc-64, kmalloc-cg-64, dma-kmalloc-64, memdup_user-64, …: all have that size exactly.
	for (size_t i = 0; i < caches->list.count; i++)
		if (caches->list.items[i].object_size == size)
			objects += caches->list.items[i].objects;
	return objects;
}

uint64_t slab_cache_noise(const struct slab_cache *cache)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	return (uint64_t)(processors > 0 ? processors : 1) * SLABS_PER_PROCESSOR * cache->per_slab;
}

/*
 * Holds what the table says against /proc/slabinfo. Objects that are freed in bulk stay in the
 * table when no program sees it. With the frees that were seen, a cache has
 *
 *	now = before + allocated since - freed of those - freed older ones
 *	             \_____ outstanding in the table ____/
 *
 * so the table is right if outstanding = growth + older ones that were freed.
 */

static const char *const kmalloc_names[KMALLOC_SIZES] = {
	"kmalloc-8",   "kmalloc-16",  "kmalloc-32",  "kmalloc-64", "kmalloc-128",
	"kmalloc-256", "kmalloc-512", "kmalloc-1k",  "kmalloc-2k", "kmalloc-4k",
	"kmalloc-8k",  "kmalloc-96",  "kmalloc-192",
};
static const uint32_t kmalloc_sizes[KMALLOC_SIZES] = {8,    16,   32,   64,   128, 256, 512,
						      1024, 2048, 4096, 8192, 96,  192};

uint32_t kmalloc_size_index(uint64_t size)
{
	uint32_t index = 0;

	while (index < KMALLOC_SIZES && (!kmalloc_sizes[index] || kmalloc_sizes[index] != size))
		index++;
	return index;
}

static int by_address(const void *left, const void *right)
{
	const struct known_cache *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static struct err *add_cache(void *argument, const void *key, const void *value)
{
	struct kernel_tracer *tracer = argument;
	struct known_cache known = {*(const uint64_t *)key, *(const struct cache *)value};

	return vec_push(&tracer->caches, known) ? NULL : err_no_memory();
}

static struct err *read_caches(struct kernel_tracer *tracer)
{
	struct err *err;

	tracer->caches.count = 0;
	err = bpf_map_each(bpf_map__fd(tracer->bpf->maps.caches), sizeof(uint64_t),
			   sizeof(struct cache), add_cache, tracer);
	if (!err && tracer->caches.count)
		qsort(tracer->caches.items, tracer->caches.count, sizeof(*tracer->caches.items),
		      by_address);
	return err;
}

static const struct known_cache *find_cache(const struct kernel_tracer *tracer, uint64_t address)
{
	const struct known_cache key = {.address = address};

	if (!tracer->caches.count)
		return NULL;
	return bsearch(&key, tracer->caches.items, tracer->caches.count, sizeof(key), by_address);
}

const char *kernel_tracer_cache(const struct kernel_tracer *tracer, uint64_t source)
{
	const struct known_cache *known = find_cache(tracer, source);

	return known ? known->cache.name : NULL;
}

/* Whether so many more than there can be are a mistake, and no noise. */
static bool is_doubtful(uint64_t outstanding, int64_t can_be, uint64_t noise)
{
	int64_t most = can_be > 0 ? can_be : 0;

	return (int64_t)outstanding > most + (int64_t)noise &&
	       (outstanding - (uint64_t)most) * 4 > outstanding;
}

/* Holds one cache against what slabinfo says now. */
static struct err *check_cache(const struct kernel_tracer *tracer, const struct slab_caches *now,
			       const struct known_cache *known, uint64_t outstanding,
			       struct kernel_outstanding *ret)
{
	const struct slab_cache *is = slab_caches_find(now, known->cache.name);
	const struct slab_cache *was = slab_caches_find(&tracer->before, known->cache.name);
	int64_t grew;

	if (!is || !tracer->before.list.count)
		return NULL;
	grew = (int64_t)(is->objects - (was ? was->objects : 0));
	if (!is_doubtful(outstanding, grew + (int64_t)known->cache.old_frees, slab_cache_noise(is)))
		return NULL;
	for (size_t i = 0; i < ret->all.stacks.count; i++)
		if (ret->all.stacks.items[i].source == known->address)
			ret->all.stacks.items[i].doubted = true;
	return vec_push(&ret->doubts,
			(struct kernel_doubt){known->cache.name, outstanding, grew, known->address})
		       ? NULL
		       : err_no_memory();
}

/* kmalloc() does not tell the cache, nor which old objects are freed: all that there are may be
 * new. */
static struct err *check_kmalloc(const struct kernel_tracer *tracer, const struct slab_caches *now,
				 const uint64_t *of_kmalloc, struct kernel_outstanding *ret)
{
	for (uint32_t i = 0; i < KMALLOC_SIZES; i++) {
		uint64_t are = slab_caches_of_kmalloc(now, kmalloc_sizes[i]);
		uint64_t were = slab_caches_of_kmalloc(&tracer->before, kmalloc_sizes[i]);

		if (kmalloc_names[i] && are && is_doubtful(of_kmalloc[i], (int64_t)are, 0) &&
		    !vec_push(&ret->doubts, (struct kernel_doubt){kmalloc_names[i], of_kmalloc[i],
								  (int64_t)(are - were), 0}))
			return err_no_memory();
	}
	return NULL;
}

static int by_outstanding(const void *left, const void *right)
{
	const struct kernel_doubt *a = left, *b = right;

	return (a->outstanding < b->outstanding) - (a->outstanding > b->outstanding);
}

struct err *cache_check(struct kernel_tracer *tracer, const struct stack_facts *facts,
			const uint64_t *of_kmalloc, struct kernel_outstanding *ret)
{
	cleanup(slab_caches_deinit) struct slab_caches now = {0};
	struct err *err = read_caches(tracer);

	if (err || !tracer->before.list.count)
		return err;
	err = slab_caches_read(&now);
	for (size_t i = 0; !err && i < tracer->caches.count; i++) {
		uint64_t outstanding = 0;

		for (size_t j = 0; j < ret->all.stacks.count; j++)
			if (ret->all.stacks.items[j].source == tracer->caches.items[i].address)
				outstanding += ret->all.stacks.items[j].blocks + facts[j].young;
		if (outstanding)
			err = check_cache(tracer, &now, &tracer->caches.items[i], outstanding, ret);
	}
	if (!err)
		err = check_kmalloc(tracer, &now, of_kmalloc, ret);
	if (ret->doubts.count)
		qsort(ret->doubts.items, ret->doubts.count, sizeof(*ret->doubts.items),
		      by_outstanding);
	return err;
}
