/*
 * Where the blocks are that a thread met last, for those that are no entry of a full group: most
 * memory is freed and handed out again soon. Entries and cells stay with their region of memory, so
 * what one holds tells whether it is still that of the block at the address.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_BLOCK_NEAR_H
#define MALLOW_AGENT_LIVE_BLOCKS_BLOCK_NEAR_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/live_blocks/heads.h"
#include "base/compiler.h"

/*
 * A place is the number of the word that is the entry of a small block (cells_word()), or of the
 * first one of a large one's cell, plus BLOCK_PLACE_LARGE; 0: nowhere. Neither a pointer nor a
 * distance from one: docs/live-table.md has what these cost the program.
 */
#define BLOCK_PLACE_LARGE (1u << 31)

/* Of one thread. Zero: it met nothing so far. */
#define BLOCK_NEAR_LOG 8
struct block_near {
	struct heads_near heads;
	struct {
		uint64_t address; /* 0: none */
		uint64_t place;
	} met[1u << BLOCK_NEAR_LOG];
};

static inline uint32_t block_near_index(uint64_t address)
{
	return (uint32_t)(address >> 3) * 0x9e3779b1u >> (32 - BLOCK_NEAR_LOG);
}

/* Where the block at the address is, or was. */
static inline uint32_t block_near_find(const struct block_near *near, uint64_t address)
{
	uint32_t index = block_near_index(address);
	uint32_t place = (uint32_t)__atomic_load_n(&near->met[index].place, __ATOMIC_RELAXED);

	// In this order: a signal handler may come in between and note another one.
	compiler_barrier();
	return __atomic_load_n(&near->met[index].address, __ATOMIC_RELAXED) == address ? place : 0;
}

/* A handler that comes in between finds none. */
static inline void block_near_note(struct block_near *near, uint64_t address, uint32_t place)
{
	uint32_t index = block_near_index(address);

	__atomic_store_n(&near->met[index].address, 0, __ATOMIC_RELAXED);
	compiler_barrier();
	__atomic_store_n(&near->met[index].place, place, __ATOMIC_RELAXED);
	compiler_barrier();
	__atomic_store_n(&near->met[index].address, address, __ATOMIC_RELAXED);
}

#endif
