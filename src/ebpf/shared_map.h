/* The value of an array of BPF's (BPF_F_MMAPABLE), in our memory. */
#ifndef MALLOW_EBPF_SHARED_MAP_H
#define MALLOW_EBPF_SHARED_MAP_H

#include <stddef.h>

#include "hosted/err.h"

struct bpf_map;

/* Zeroed: none. */
struct shared_map {
	void *address; /* readable and writable; NULL: none */
	size_t size;   /* whole pages */
};

/* size: of the value, in bytes. The map may be closed before shared_map_deinit(). */
struct err *shared_map_init(struct shared_map *shared, const struct bpf_map *map, size_t size);
void shared_map_deinit(struct shared_map *shared);

#endif
