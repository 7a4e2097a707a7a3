/*
 * How many objects the kernel says that each of its caches has: /proc/slabinfo. slab_caches.c also
 * has cache_check() of kernel_tracer_data.h.
 */
#ifndef MALLOW_EBPF_KERNEL_SLAB_CACHES_H
#define MALLOW_EBPF_KERNEL_SLAB_CACHES_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"
#include "hosted/vec.h"

struct slab_cache {
	char name[64];
	/*
	 * In use, but for the free ones in slabs that a processor has for itself, which count as
	 * in use: so it is a little too many.
	 */
	uint64_t objects;
	uint32_t object_size, per_slab;
};

/* Zeroed: empty. */
struct slab_caches {
	VEC(struct slab_cache) list;
};

/* Into an empty one. Deinit also on failure. */
struct err *slab_caches_read(struct slab_caches *caches);
void slab_caches_deinit(struct slab_caches *caches);

/* NULL: there is none of that name. */
const struct slab_cache *slab_caches_find(const struct slab_caches *caches, const char *name);

/* The objects of all caches that serve kmalloc() for this size of object. */
uint64_t slab_caches_of_kmalloc(const struct slab_caches *caches, uint64_t size);

/* How far off the number of objects may be: what processors have for themselves. */
uint64_t slab_cache_noise(const struct slab_cache *cache);

#endif
