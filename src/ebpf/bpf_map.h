/* Maps of BPF programs: reading a table many entries at a time; an array in our memory. */
#ifndef MALLOW_EBPF_BPF_MAP_H
#define MALLOW_EBPF_BPF_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"

struct bpf_map;

/* key, value: valid until it returns. */
typedef struct err *bpf_map_entry(void *argument, const void *key, const void *value);

/*
 * Calls each() for the entries of a table, until it fails. map: its descriptor; key, value: their
 * sizes in bytes. A table that changes meanwhile is read bucket by bucket: an entry that stays is
 * neither skipped nor read twice. So it ends after one pass however busy the table is.
 */
struct err *bpf_map_each(int map, size_t key, size_t value, bpf_map_entry *each, void *argument);

/* The value of an array of BPF's (BPF_F_MMAPABLE), in our memory. Zeroed: none. */
struct shared_map {
	void *address; /* readable and writable; NULL: none */
	size_t size;   /* whole pages */
};

/* size: of the value, in bytes. The map may be closed before shared_map_deinit(). */
struct err *shared_map_init(struct shared_map *shared, const struct bpf_map *map, size_t size);
void shared_map_deinit(struct shared_map *shared);

#endif
