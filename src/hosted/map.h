/*
 * A hash map from 64-bit keys to 64-bit values: open addressing, linear probing, at most three
 * quarters full. Removing a key shifts later ones back, so there are no tombstones.
 *
 *	keys    | 7 | . | 15 | 23 | . |     a key stands at its home slot or in the run behind it
 *
 * The value MAP_NONE cannot be stored.
 */
#ifndef MALLOW_HOSTED_MAP_H
#define MALLOW_HOSTED_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT64_MAX

struct map_entry {
	uint64_t key;
	uint64_t value; /* MAP_NONE: free slot */
};

/* Zeroed: empty. */
struct map {
	struct map_entry *entries; /* 1 << (64 - shift) of them */
	size_t count;
	size_t limit; /* count at which it grows */
	unsigned int shift;
};

void map_deinit(struct map *map);

/* The number of slots, free ones included. */
static inline size_t map_size(const struct map *map)
{
	return map->entries ? (size_t)1 << (64 - map->shift) : 0;
}

/* The key's value. MAP_NONE: it is not in the map. */
uint64_t map_get(const struct map *map, uint64_t key);

/*
 * Where the key's value is; valid until the next call. A key that is new holds MAP_NONE, which the
 * caller must replace before the next call. NULL: no memory, and nothing changed.
 */
uint64_t *map_put(struct map *map, uint64_t key);

/* Removes the key and returns its value. MAP_NONE: it was not in the map. */
uint64_t map_remove(struct map *map, uint64_t key);

#endif
