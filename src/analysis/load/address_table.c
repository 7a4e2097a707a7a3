#include "analysis/load/address_table.h"

#include "base/compiler.h"
#include "hosted/pages.h"

/* So many regions have places: 256 MiB of them, if all of their pages are used. */
#define REGIONS_MAX 1024

#define REGIONS_BACK 64 /* address_table_may_cover() */

#define TABLE_COUNT ((size_t)1 << (ADDRESS_BITS - ADDRESS_REGION_BITS - ADDRESS_REGIONS_BITS))
#define TABLES_SIZE (TABLE_COUNT * sizeof(struct address_regions *))

#define FIRST_BITS 10
#define MOST_BITS  32

/*
 * Slots are at most a quarter full until they take 8 MiB. Most runs are empty then; otherwise the
 * end of a run is a branch that no processor can predict. A larger sparse table would cost as much
 * to make as it saves.
 */
#define SPARSE_BITS 20

#define BATCH_SIZE (sizeof(struct live_block) << ADDRESS_TABLE_BATCH_BITS)

static uint32_t mask(const struct address_table *table)
{
	return UINT32_MAX >> table->shift;
}

static size_t bytes(const struct address_table *table)
{
	return table->slots ? ((size_t)mask(table) + 1) * sizeof(*table->slots) : 0;
}

void address_table_deinit(struct address_table *table)
{
	for (size_t i = 0; table->regions && i < TABLE_COUNT; i++)
		pages_free(table->regions[i], sizeof(*table->regions[i]));
	pages_free(table->regions, TABLES_SIZE);
	for (size_t i = 0; i < table->places.count; i++)
		pages_free(table->places.items[i], sizeof(struct address_places));
	vec_deinit(&table->places);
	pages_free(table->slots, bytes(table));
	for (size_t i = 0; i < table->batches.count; i++)
		pages_free(table->batches.items[i], BATCH_SIZE);
	vec_deinit(&table->batches);
	*table = (struct address_table){0};
}

static bool grow(struct address_table *table)
{
	unsigned int bits = table->slots ? 32 - table->shift + 1 : FIRST_BITS;
	struct address_table grown = {.shift = 32 - bits};

	if (bits > MOST_BITS)
		return false;
	grown.slots = pages_alloc(sizeof(*grown.slots) << bits);
	if (!grown.slots)
		return false;
	for (size_t i = 0; table->slots && i <= mask(table); i++) {
		uint32_t at;

		if (!table->slots[i].block)
			continue;
		at = table->slots[i].tag >> grown.shift;
		while (grown.slots[at].block)
			at = (at + 1) & mask(&grown);
		grown.slots[at] = table->slots[i];
	}
	pages_free(table->slots, bytes(table));
	table->slots = grown.slots;
	table->shift = grown.shift;
	table->limit = mask(table) / (bits <= SPARSE_BITS ? 4 : 2);
	return true;
}

/* Adds a batch: at least one place is free then. False: no memory. */
static bool add_batch(struct address_table *table)
{
	struct live_block *batch;

	if (!vec_reserve(&table->batches, 1))
		return false;
	batch = pages_alloc(BATCH_SIZE);
	if (!batch)
		return false;
	table->batches.items[table->batches.count++] = batch;
	return true;
}

/* *ret: the index of a place that was free. False: no memory. */
static bool take_free(struct address_table *table, uint32_t *ret)
{
	if (likely(table->free)) {
		*ret = table->free - 1;
		table->free = (uint32_t)address_table_block(table, *ret)->address;
		return true;
	}
	if (unlikely(table->used == table->batches.count << ADDRESS_TABLE_BATCH_BITS) &&
	    !add_batch(table))
		return false;
	*ret = table->used++;
	return true;
}

/* Gives the address's region places, unless there are enough. false: no memory. */
static bool add_region(struct address_table *table, uint64_t address)
{
	struct address_regions **regions;
	struct address_places **region;

	if (!table->regions)
		table->regions = pages_alloc(TABLES_SIZE);
	if (!table->regions)
		return false;
	regions = &table->regions[address >> (ADDRESS_REGION_BITS + ADDRESS_REGIONS_BITS)];
	if (!*regions)
		*regions = pages_alloc(sizeof(**regions));
	if (!*regions || !vec_reserve(&table->places, 1))
		return false;
	region = address_table_region(table, address);
	*region = pages_alloc(sizeof(**region));
	if (*region)
		table->places.items[table->places.count++] = *region;
	return *region;
}

/* The same for an address that has no place yet. NULL: it gets none. */
static uint32_t *add_place(struct address_table *table, uint64_t address)
{
	if (table->regions_full || address >> ADDRESS_BITS ||
	    address & ((1u << ADDRESS_PLACE_BITS) - 1))
		return NULL;
	// An address is in the slots if its region had no places before: never the one and the
	// other.
	table->regions_full = table->places.count == REGIONS_MAX || !add_region(table, address);
	return address_table_place(table, address);
}

/* A block for the address, which *place is to refer to. NULL: no memory. */
static struct live_block *new_block(struct address_table *table, uint64_t address, uint32_t *place)
{
	struct live_block *block;
	uint32_t index;

	if (unlikely(!take_free(table, &index)))
		return NULL;
	*place = index + 1;
	block = address_table_block(table, index);
	block->address = address;
	block->number = 0;
	block->live = 1;
	return block;
}

static struct live_block *put_slot(struct address_table *table, uint64_t address)
{
	uint32_t tag = address_table_tag(address), i;
	struct live_block *block;

	if (unlikely(table->count >= table->limit) && !grow(table))
		return NULL;
	for (i = tag >> table->shift; table->slots[i].block; i = (i + 1) & mask(table)) {
		if (table->slots[i].tag != tag)
			continue;
		block = address_table_block(table, table->slots[i].block - 1);
		if (likely(block->address == address))
			return block;
	}
	block = new_block(table, address, &table->slots[i].block);
	if (!block)
		return NULL;
	table->slots[i].tag = tag;
	table->count++;
	return block;
}

struct live_block *address_table_put(struct address_table *table, uint64_t address)
{
	uint32_t *place = address_table_place(table, address);

	if (unlikely(!place))
		place = add_place(table, address);
	if (unlikely(!place))
		return put_slot(table, address);
	return *place ? address_table_block(table, *place - 1) : new_block(table, address, place);
}

/* Closes the gap: moves later slots of the run back, as far as their home slots allow. */
static void close_gap(struct address_table *table, uint32_t gap)
{
	struct live_slot *slots = table->slots;

	for (uint32_t i = (gap + 1) & mask(table); slots[i].block; i = (i + 1) & mask(table)) {
		uint32_t distance = (i - (slots[i].tag >> table->shift)) & mask(table);

		if (distance >= ((i - gap) & mask(table))) {
			slots[gap] = slots[i];
			gap = i;
		}
	}
	slots[gap].block = 0;
}

/* Makes the block that *place refers to free, and returns it. */
static const struct live_block *end_block(struct address_table *table, uint32_t place)
{
	struct live_block *block = address_table_block(table, place - 1);

	block->address = table->free;
	block->live = 0;
	table->free = place;
	return block;
}

static const struct live_block *take_slot(struct address_table *table, uint64_t address)
{
	uint32_t tag = address_table_tag(address);

	for (uint32_t i = tag >> table->shift; table->slots[i].block; i = (i + 1) & mask(table)) {
		uint32_t found = table->slots[i].block;

		if (table->slots[i].tag != tag ||
		    unlikely(address_table_block(table, found - 1)->address != address))
			continue;
		close_gap(table, i);
		table->count--;
		return end_block(table, found);
	}
	return NULL;
}

const struct live_block *address_table_take(struct address_table *table, uint64_t address)
{
	uint32_t *place = address_table_place(table, address), found;

	if (unlikely(!place))
		return table->slots ? take_slot(table, address) : NULL;
	found = *place;
	*place = 0;
	return likely(found) ? end_block(table, found) : NULL;
}

static bool covers(const struct live_block *block, uint64_t address)
{
	return address > block->address && address - block->address < block->size;
}

/* The block of the last place that is in use, of those up to `last`. NULL: none is. */
static const struct live_block *last_block(const struct address_table *table,
					   const struct address_places *places, size_t last)
{
	for (size_t i = last + 1; i-- > 0;)
		if (places->blocks[i])
			return address_table_block(table, places->blocks[i] - 1);
	return NULL;
}

bool address_table_may_cover(const struct address_table *table, uint64_t address, uint64_t largest)
{
	const uint64_t region_size = UINT64_C(1) << ADDRESS_REGION_BITS;
	uint64_t place = address & ~(uint64_t)((1u << ADDRESS_PLACE_BITS) - 1);
	size_t last = place >> ADDRESS_PLACE_BITS & (ADDRESS_PLACES - 1);

	// Addresses that have no place are seldom, and in no order.
	if (table->count || address >> ADDRESS_BITS)
		return true;
	for (int i = 0; i < REGIONS_BACK; i++) {
		struct address_places **region = address_table_region(table, place);
		const struct live_block *block =
			region && *region ? last_block(table, *region, last) : NULL;

		if (block)
			return covers(block, address);
		place &= ~(region_size - 1);
		if (!place || address - place >= largest)
			return false;
		place -= 1u << ADDRESS_PLACE_BITS;
		last = ADDRESS_PLACES - 1;
	}
	return true;
}

const struct live_block *address_table_next(const struct address_table *table, uint32_t *index)
{
	while (*index < table->used) {
		const struct live_block *block = address_table_block(table, (*index)++);

		if (block->live)
			return block;
	}
	return NULL;
}
