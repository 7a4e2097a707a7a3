/*
 * The blocks that are live at the present event while a recording is loaded, by address. A free
 * finds its allocation here.
 *
 *	regions of 1 MiB     a place for each 16 bytes      blocks
 *	  … │ places │ … ─►    … │ block │ 0 │ block │ … ─►  … │ address, number, size, … │ …
 *
 *	slots, by hash of the address
 *	  … │ tag │ block │ tag │ block │ …             ─►
 *
 * Programs use again what they freed just now, and take neighbours one after the other. So places
 * that lie together as the addresses do are nearly always in the processor's cache: a look-up waits
 * for no memory. They take a quarter of the memory that the program had blocks in, at most, and
 * only so much is given to them: addresses in further regions, and those that are no multiples of
 * 16, are in a hash table. It has open addressing, linear probing and removal by shifting back.
 *
 * The blocks lie close together, and the one freed last is used next.
 */
#ifndef MALLOW_ANALYSIS_LOAD_ADDRESS_TABLE_H
#define MALLOW_ANALYSIS_LOAD_ADDRESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "hosted/vec.h"

#define ADDRESS_TABLE_BATCH_BITS 17 /* 6 MiB, three huge pages */

struct live_block {
	uint64_t address; /* of a free place: index of the next free one plus 1, 0: none */
	/* The block's, from 1. No recording has 2 to the power of 48. */
	uint64_t number : 48;
	uint64_t entry : 8; /* the operation that allocated it: enum trace_op */
	uint64_t live : 1;  /* the place is not free */
	uint64_t large : 1; /* it is in facts_walk.large */
	uint64_t size;
	uint64_t ticks; /* when it was allocated */
	uint32_t site;
	uint32_t thread;
	uint32_t slack;   /* usable bytes beyond the size; UINT32_MAX: so many or more */
	uint32_t chained; /* so many chains of reallocs end with it */
};

struct live_slot {
	uint32_t tag;   /* the upper half of the address's hash */
	uint32_t block; /* index plus 1; 0: a free slot */
};

#define ADDRESS_REGION_BITS  20
#define ADDRESS_PLACE_BITS   4
#define ADDRESS_REGIONS_BITS 16 /* regions of one table of them: 64 GiB */
#define ADDRESS_BITS         48 /* of addresses that have places */
#define ADDRESS_PLACES       (1u << (ADDRESS_REGION_BITS - ADDRESS_PLACE_BITS))

/* Each place: a block's index plus 1, 0: none. */
struct address_places {
	uint32_t blocks[ADDRESS_PLACES];
};

/* NULL: the region has no places. */
struct address_regions {
	struct address_places *places[1u << ADDRESS_REGIONS_BITS];
};

/* Zeroed: empty. */
struct address_table {
	/* 1 << (ADDRESS_BITS - ADDRESS_REGION_BITS - ADDRESS_REGIONS_BITS) of them. NULL: none. */
	struct address_regions **regions;
	VEC(struct address_places *) places; /* of all regions that have some */
	bool regions_full;                   /* no further ones get places */
	struct live_slot *slots;             /* 1 << (32 - shift) of them */
	unsigned int shift;
	uint32_t count;                   /* of blocks in slots */
	uint32_t limit;                   /* the count at which the slots grow */
	VEC(struct live_block *) batches; /* of 1 << ADDRESS_TABLE_BATCH_BITS blocks; never moved */
	uint32_t free;                    /* first free place plus 1, 0: none */
	uint32_t used;                    /* how many places were ever in use */
};

void address_table_deinit(struct address_table *table);

/*
 * The block at an address, added if there is none; valid until it is taken. A new one has number 0,
 * which the caller replaces before the next call. NULL: no memory, and nothing changed.
 */
struct live_block *address_table_put(struct address_table *table, uint64_t address);

/*
 * Removes the block at the address and returns it; NULL: there is none. All but its address stays
 * valid until the next call.
 */
const struct live_block *address_table_take(struct address_table *table, uint64_t address);

/*
 * Whether the address may lie in a block, behind its first byte. false: it does not, unless blocks
 * overlap. Looks back for the block below it, 64 MiB at most. largest: no block has more bytes.
 */
bool address_table_may_cover(const struct address_table *table, uint64_t address, uint64_t largest);

/*
 * The first live block from *index on, in no order that means anything; *index becomes that of the
 * place behind it. NULL: there is none. Begin with 0.
 */
const struct live_block *address_table_next(const struct address_table *table, uint32_t *index);

/* The hash of an address: the multiplication spreads it over the upper bits. */
static inline uint32_t address_table_tag(uint64_t address)
{
	return (uint32_t)((address ^ address >> 32) * 0x9e3779b97f4a7c15ull >> 32);
}

static inline struct live_block *address_table_block(const struct address_table *table,
						     uint32_t index)
{
	uint32_t at = index & ((1u << ADDRESS_TABLE_BATCH_BITS) - 1);

	return &table->batches.items[index >> ADDRESS_TABLE_BATCH_BITS][at];
}

/* Where the places of the address's region are noted. NULL: it can have none, or not yet. */
static inline struct address_places **address_table_region(const struct address_table *table,
							   uint64_t address)
{
	struct address_regions *regions;

	if (unlikely(!table->regions || address >> ADDRESS_BITS ||
		     address & ((1u << ADDRESS_PLACE_BITS) - 1)))
		return NULL;
	regions = table->regions[address >> (ADDRESS_REGION_BITS + ADDRESS_REGIONS_BITS)];
	return likely(regions) ? &regions->places[address >> ADDRESS_REGION_BITS &
						  ((1u << ADDRESS_REGIONS_BITS) - 1)]
			       : NULL;
}

/* NULL: the address has no place. */
static inline uint32_t *address_table_place(const struct address_table *table, uint64_t address)
{
	struct address_places **region = address_table_region(table, address);

	return likely(region && *region)
		       ? &(*region)->blocks[address >> ADDRESS_PLACE_BITS & (ADDRESS_PLACES - 1)]
		       : NULL;
}

/*
 * Prefetches the place of an address that will be put or taken soon. The attribute is needed
 * because gcc takes a function that only prefetches for one without effect, and drops its calls
 * before it would inline them.
 */
__attribute__((always_inline)) static inline void
address_table_expect(const struct address_table *table, uint64_t address)
{
	uint32_t *place = address_table_place(table, address);

	if (place)
		__builtin_prefetch(place, 1);
}

/*
 * Prefetches the block of an address that will be taken soon. Call address_table_expect() a while
 * before.
 */
__attribute__((always_inline)) static inline void
address_table_expect_take(const struct address_table *table, uint64_t address)
{
	uint32_t *place = address_table_place(table, address);

	if (place && *place)
		__builtin_prefetch(address_table_block(table, *place - 1), 1);
}

#endif
