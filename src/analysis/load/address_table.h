/*
 * Which block is at an address now, while a recording is loaded: a free finds its allocation here.
 *
 *	slots, by hash of the address          blocks, by number of the slot's block
 *	  … │ tag │ block │ tag │ block │ …      … │ address, number, size, site, thread │ …
 *
 * A hash table of small slots, with open addressing, linear probing and removal by shifting back.
 * A slot is small, so the table can be sparse and is still half of what it would be with the blocks
 * in it; it grows without a look at them, and nearly all look-ups end in a line of memory that was
 * asked for in advance. The blocks lie close together, and the one that was freed last is used
 * next: programs free most of what they allocate soon, so these stay in the cache.
 */
#ifndef MALLOW_ANALYSIS_LOAD_ADDRESS_TABLE_H
#define MALLOW_ANALYSIS_LOAD_ADDRESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/vec.h"

#define ADDRESS_TABLE_BATCH_BITS 16 /* 2 MiB, a huge page */

struct live_block {
	uint64_t address; /* of a free one: the index of the next free one plus 1, 0: none */
	uint64_t number;  /* of the block, from 1 */
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
	uint32_t limit;                   /* count at which the slots grow */
	VEC(struct live_block *) batches; /* of 1 << ADDRESS_TABLE_BATCH_BITS blocks, never moved */
	uint32_t free;                    /* as in address above */
	uint32_t used;                    /* blocks that were ever in use */
};

void address_table_deinit(struct address_table *table);

/*
 * The block at an address. A new one has number 0, which the caller replaces before the next
 * call. Valid until it is taken. NULL: no memory, nothing changed.
 */
struct live_block *address_table_put(struct address_table *table, uint64_t address);

/*
 * Removes the block at the address, NULL: there is none. Valid until the next call, but for its
 * address.
 */
const struct live_block *address_table_take(struct address_table *table, uint64_t address);

/* Addresses are multiples of 16 in bursts; the multiplication spreads them over the upper bits. */
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
 * The address will be put or taken soon. gcc holds a function that only prefetches for one without
 * effect, and drops its calls before it would inline them: hence the attribute.
 */
__attribute__((always_inline)) static inline void
address_table_expect(const struct address_table *table, uint64_t address)
{
	if (table->slots)
		__builtin_prefetch(&table->slots[address_table_tag(address) >> table->shift], 1);
}

/* The address, of which the above was said a while ago, will be taken soon. */
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
