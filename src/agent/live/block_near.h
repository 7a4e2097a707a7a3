/*
 * Entries of small blocks (trace/live.h), and where those are that a thread met last: most memory
 * is freed and handed out again soon. An entry stays with its region of memory, so what it holds
 * tells whether it is still that of the block at the address.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCK_NEAR_H
#define MALLOW_AGENT_LIVE_BLOCK_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/live/add.h"
#include "agent/live/heads.h"
#include "trace/live.h"

struct known_block {
	uint32_t owner; /* site << LIVE_THREAD_BITS | thread, not 0 */
	uint32_t time;  /* block_table_time() */
	uint64_t size;
};

struct block_place {
	uint64_t address; /* 0: none */
	uint64_t *entry;  /* atomic: where its block is, or was */
};

/* Of one thread. Zero: it met nothing so far. */
#define BLOCK_NEAR_LOG 8
struct block_near {
	struct heads_near heads;
	struct block_place places[1u << BLOCK_NEAR_LOG];
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

/* Field by field: a copy of the whole would wait for its parts to be stored. */
static inline void block_from_entry(struct known_block *ret, uint64_t entry)
{
	ret->owner = (uint32_t)(entry >> LIVE_OWNER_SHIFT);
	ret->time = (uint32_t)(entry >> LIVE_TIME_SHIFT) & ((1u << LIVE_TIME_BITS) - 1);
	ret->size = entry >> LIVE_SIZE_SHIFT & (LIVE_LARGE_MIN - 1);
}

static inline struct block_place *block_near_place(struct block_near *near, uint64_t address)
{
	return &near->places[(uint32_t)(address >> 3) * 0x9e3779b1u >> (32 - BLOCK_NEAR_LOG)];
}

/* A signal handler may come in between: it finds none. */
static inline void block_near_note(struct block_near *near, uint64_t address, uint64_t *entry)
{
	struct block_place *place = block_near_place(near, address);

	__atomic_store_n(&place->address, 0, __ATOMIC_RELAXED);
	compiler_barrier();
	place->entry = entry;
	compiler_barrier();
	__atomic_store_n(&place->address, address, __ATOMIC_RELAXED);
}

/* block_table_put() in the ordinary case. false: it is not that, and nothing was done. */
static inline bool block_near_put(struct block_near *near, uint64_t address,
				  const struct known_block *block)
{
	const struct block_place *place = block_near_place(near, address);

	return likely(__atomic_load_n(&place->address, __ATOMIC_RELAXED) == address && address &&
		      block->size < LIVE_LARGE_MIN) &&
	       likely(add_claim(place->entry, block_entry(address, block)));
}

/* block_table_take(), the same. */
static inline bool block_near_take(struct block_near *near, uint64_t address,
				   struct known_block *ret)
{
	const struct block_place *place = block_near_place(near, address);
	uint64_t entry;

	if (unlikely(__atomic_load_n(&place->address, __ATOMIC_RELAXED) != address || !address))
		return false;
	entry = __atomic_load_n(place->entry, __ATOMIC_RELAXED);
	if (unlikely((entry & BLOCK_START_MASK) != block_start(address)))
		return false;
	block_from_entry(ret, entry);
	__atomic_store_n(place->entry, 0, __ATOMIC_RELAXED);
	return true;
}

#endif
