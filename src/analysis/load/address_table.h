/*
 * The blocks that are live at the present event while a recording is loaded, by address. A free
 * finds its allocation here.
 *
 *	slots, by hash of the address          blocks, by number of the slot's block
 *	  … │ tag │ block │ tag │ block │ …      … │ address, number, size, site, thread │ …
 *
 * The slots are a hash table with open addressing, linear probing and removal by shifting back.
 * Slots are small, so the table can be sparse and still takes half of what it would take with the
 * blocks in it. It grows without reading the blocks, and nearly all look-ups need one line of
 * memory, which was prefetched. The blocks lie close together, and the place freed last is used
 * next: programs free most of their blocks soon, so these places stay in the cache.
 */
#ifndef MALLOW_ANALYSIS_LOAD_ADDRESS_TABLE_H
#define MALLOW_ANALYSIS_LOAD_ADDRESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/vec.h"

#define ADDRESS_TABLE_BATCH_BITS 16 /* 2 MiB, a huge page */

struct live_block {
	uint64_t address; /* of a free place: index of the next free one plus 1, 0: none */
	uint64_t number;  /* the block's, from 1 */
	uint64_t size;
	uint32_t site;
	uint32_t thread;
};

struct live_slot {
	uint32_t tag;   /* the upper half of the address's hash */
	uint32_t block; /* index plus 1; 0: a free slot */
};

/* Zeroed: empty. */
struct address_table {
	struct live_slot *slots; /* 1 << (32 - shift) of them */
	unsigned int shift;
	uint32_t count;
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
 * The hash of an address. Addresses are multiples of 16 and come in bursts; the multiplication
 * spreads them over the upper bits.
 */
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

/*
 * Prefetches the slot of an address that will be put or taken soon. The attribute is needed because
 * gcc takes a function that only prefetches for one without effect, and drops its calls before it
 * would inline them.
 */
__attribute__((always_inline)) static inline void
address_table_expect(const struct address_table *table, uint64_t address)
{
	if (table->slots)
		__builtin_prefetch(&table->slots[address_table_tag(address) >> table->shift], 1);
}

/*
 * Prefetches the block of an address that will be taken soon. Call address_table_expect() a while
 * before.
 */
__attribute__((always_inline)) static inline void
address_table_expect_take(const struct address_table *table, uint64_t address)
{
	uint32_t block = 0;

	if (table->slots)
		block = table->slots[address_table_tag(address) >> table->shift].block;
	if (block)
		__builtin_prefetch(address_table_block(table, block - 1), 1);
}

#endif
