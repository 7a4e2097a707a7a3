#include "ebpf/kernel/slab_caches.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hosted/cleanup.h"

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
