/* Encoding and decoding the entry of a small block (trace/live.h). */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_BLOCK_ENTRY_H
#define MALLOW_AGENT_LIVE_BLOCKS_BLOCK_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/live.h"

struct known_block {
	uint32_t owner; /* site << LIVE_THREAD_BITS | thread, not 0 */
	uint32_t time;  /* block_table_time() */
	uint64_t size;
};

#define BLOCK_START_MASK ((UINT64_C(1) << LIVE_START_BITS) - 1)

static inline uint64_t block_start(uint64_t address)
{
	return (address >> 3 & (BLOCK_START_MASK >> 1)) + 1;
}

static inline uint64_t block_entry(uint64_t address, const struct known_block *block)
{
	return (uint64_t)block->owner << LIVE_OWNER_SHIFT |
	       (uint64_t)block->time << LIVE_TIME_SHIFT | block->size << LIVE_SIZE_SHIFT |
	       block_start(address);
}

/* Whether the entry (atomic) is of the block at the address, which is in the entry's region. */
static inline bool block_entry_is_at(const uint64_t *entry, uint64_t address)
{
	return (__atomic_load_n(entry, __ATOMIC_RELAXED) & BLOCK_START_MASK) ==
	       block_start(address);
}

static inline uint64_t block_entry_size(uint64_t entry)
{
	return entry >> LIVE_SIZE_SHIFT & (LIVE_LARGE_MIN - 1);
}

/* Field by field: to copy the whole struct would wait until its parts are stored. */
static inline void block_from_entry(struct known_block *ret, uint64_t entry)
{
	ret->owner = (uint32_t)(entry >> LIVE_OWNER_SHIFT);
	ret->time = (uint32_t)(entry >> LIVE_TIME_SHIFT) & ((1u << LIVE_TIME_BITS) - 1);
	ret->size = block_entry_size(entry);
}

/* Frees the entry of a block that ends. */
static inline void block_entry_take(uint64_t *entry, struct known_block *ret)
{
	block_from_entry(ret, __atomic_load_n(entry, __ATOMIC_RELAXED));
	__atomic_store_n(entry, 0, __ATOMIC_RELAXED);
}

#endif
