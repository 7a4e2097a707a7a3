#include "hosted/map.h"

#include <stdlib.h>

#define FIRST_BITS 8

/*
 * The hash. Keys are addresses, ids and pairs of indices: their low bits vary little and their high
 * bits are often equal. The fold brings the high half into the low one, and the multiplication
 * spreads all bits.
 */
static size_t home(const struct map *map, uint64_t key)
{
	key ^= key >> 32;
	return (size_t)(key * 0x9e3779b97f4a7c15ull >> map->shift);
}

static size_t mask(const struct map *map)
{
	return map_size(map) - 1;
}

void map_deinit(struct map *map)
{
	free(map->entries);
	*map = (struct map){0};
}

uint64_t map_get(const struct map *map, uint64_t key)
{
	if (!map->entries)
		return MAP_NONE;
	for (size_t i = home(map, key);; i = (i + 1) & mask(map)) {
		const struct map_entry *entry = &map->entries[i];

		if (entry->value == MAP_NONE || entry->key == key)
			return entry->value;
	}
}

static bool grow_map(struct map *map)
{
	unsigned int bits = map->entries ? 64 - map->shift + 1 : FIRST_BITS;
	struct map grown = {.shift = 64 - bits, .count = map->count};

	if (bits > 48)
		return false;
	grown.entries = malloc(sizeof(*grown.entries) << bits);
	if (!grown.entries)
		return false;
	grown.limit = ((size_t)1 << bits) / 4 * 3;
	for (size_t i = 0; i <= mask(&grown); i++)
		grown.entries[i].value = MAP_NONE;

	size_t old_size = map->entries ? mask(map) + 1 : 0;

	for (size_t i = 0; i < old_size; i++) {
		const struct map_entry *entry = &map->entries[i];

		if (entry->value == MAP_NONE)
			continue;

		size_t at = home(&grown, entry->key);

		// All were set to MAP_NONE above. NOLINTNEXTLINE(clang-analyzer-core.Undefined*)
		while (grown.entries[at].value != MAP_NONE)
			at = (at + 1) & mask(&grown);
		grown.entries[at] = *entry;
	}
	free(map->entries);
	*map = grown;
	return true;
}

uint64_t *map_put(struct map *map, uint64_t key)
{
	if (map->count >= map->limit && !grow_map(map))
		return NULL;
	for (size_t i = home(map, key);; i = (i + 1) & mask(map)) {
		struct map_entry *entry = &map->entries[i];

		if (entry->value == MAP_NONE) {
			entry->key = key;
			map->count++;
			return &entry->value;
		}
		if (entry->key == key)
			return &entry->value;
	}
}

/* Closes the gap: moves later entries of the run back, as far as their home slots allow. */
static void close_gap(struct map *map, size_t gap)
{
	size_t i = gap;

	for (;;) {
		i = (i + 1) & mask(map);
		if (map->entries[i].value == MAP_NONE)
			break;

		size_t distance = (i - home(map, map->entries[i].key)) & mask(map);

		if (distance >= ((i - gap) & mask(map))) {
			map->entries[gap] = map->entries[i];
			gap = i;
		}
	}
	map->entries[gap].value = MAP_NONE;
}

uint64_t map_remove(struct map *map, uint64_t key)
{
	if (!map->entries)
		return MAP_NONE;
	for (size_t i = home(map, key);; i = (i + 1) & mask(map)) {
		struct map_entry *entry = &map->entries[i];
		uint64_t value = entry->value;

		if (value == MAP_NONE)
			return MAP_NONE;
		if (entry->key == key) {
			close_gap(map, i);
			map->count--;
			return value;
		}
	}
}
