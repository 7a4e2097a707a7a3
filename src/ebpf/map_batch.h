/* Reads a table of the kernel many entries at a time. */
#ifndef MALLOW_EBPF_MAP_BATCH_H
#define MALLOW_EBPF_MAP_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"

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

#endif
