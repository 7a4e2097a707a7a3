#include "agent/script/frame_ids.h"

#include <stddef.h>

#include "agent/ground/own_pages.h"

#define FIRST_CAPACITY 1024u /* a power of two */

struct frame_id {
	uint64_t key; /* atomic, 0: free; written last */
	uint32_t id;
};

struct frame_id_table {
	uint32_t mask;
	uint32_t used;
	struct frame_id entries[];
};

struct frame_ids *script_ids;

/* The place of the key, or a free one: there always is one. */
static struct frame_id *place_of(struct frame_id_table *table, uint64_t key)
{
	for (uint64_t i = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;; i++) {
		struct frame_id *place = &table->entries[i & table->mask];
		uint64_t there = __atomic_load_n(&place->key, __ATOMIC_ACQUIRE);

		if (there == key || !there)
			return place;
	}
}

uint32_t frame_ids_find(const struct frame_ids *ids, uint64_t key)
{
	struct frame_id_table *table = __atomic_load_n(&ids->table, __ATOMIC_ACQUIRE);
	const struct frame_id *place = table ? place_of(table, key) : NULL;

	return place && __atomic_load_n(&place->key, __ATOMIC_ACQUIRE) == key ? place->id : 0;
}

static void put(struct frame_id_table *table, uint64_t key, uint32_t id)
{
	struct frame_id *place = place_of(table, key);

	place->id = id;
	__atomic_store_n(&place->key, key, __ATOMIC_RELEASE);
	table->used++;
}

/* A table with room for one more. NULL: no memory. */
static struct frame_id_table *with_room(struct frame_ids *ids)
{
	struct frame_id_table *table = ids->table, *larger;
	uint32_t capacity = table ? (table->mask + 1) * 2 : FIRST_CAPACITY;

	if (table && table->used < (table->mask + 1) / 4 * 3)
		return table;
	larger = own_pages_allocate(sizeof(*larger) + capacity * sizeof(*larger->entries));
	if (!larger)
		return NULL;
	larger->mask = capacity - 1;
	for (uint32_t i = 0; table && i <= table->mask; i++)
		if (table->entries[i].key)
			put(larger, table->entries[i].key, table->entries[i].id);
	__atomic_store_n(&ids->table, larger, __ATOMIC_RELEASE);
	return larger;
}

void frame_ids_add(struct frame_ids *ids, uint64_t key, uint32_t id)
{
	struct frame_id_table *table = with_room(ids);

	if (table && !frame_ids_find(ids, key))
		put(table, key, id);
}
