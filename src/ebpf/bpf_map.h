/* Maps of BPF programs: reading a table many entries at a time; an array in our memory. */
#ifndef MALLOW_EBPF_BPF_MAP_H
#define MALLOW_EBPF_BPF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"

struct bpf_map;

/* What one system call has read. */
struct map_batch {
	int map;
	void *keys, *values;
	uint32_t count;
	uint64_t at; /* the kernel's position */
	bool begun, over;
};

/* key, value: their sizes in bytes. map: its descriptor. Deinit also on failure. */
struct err *map_batch_init(struct map_batch *batch, int map, size_t key, size_t value);
void map_batch_deinit(struct map_batch *batch);

/*
 * Reads on, until batch->over. A table that changes meanwhile is read bucket by bucket: an entry
 * that stays is neither skipped nor read twice. So it ends after one pass however busy the table
 * is.
 */
struct err *map_batch_next(struct map_batch *batch);

/* The value of an array of BPF's (BPF_F_MMAPABLE), in our memory. Zeroed: none. */
struct shared_map {
	void *address; /* readable and writable; NULL: none */
	size_t size;   /* whole pages */
};

/* size: of the value, in bytes. The map may be closed before shared_map_deinit(). */
struct err *shared_map_init(struct shared_map *shared, const struct bpf_map *map, size_t size);
void shared_map_deinit(struct shared_map *shared);

#endif
