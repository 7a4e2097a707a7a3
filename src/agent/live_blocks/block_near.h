/*
 * A thread's cache of where in the table it met blocks last: most memory is freed and handed out
 * again soon. Entries of full and wide groups are not in it: the address alone leads to them. An
 * entry or cell may serve another block by now. Its content tells whether it still is that of the
 * block at the address, because it mostly stays with its region.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_BLOCK_NEAR_H
#define MALLOW_AGENT_LIVE_BLOCKS_BLOCK_NEAR_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/live_blocks/heads.h"
#include "base/compiler.h"

/*
 * A place is the number of a word (cells_word()): a small block's entry, or the first word of a
 * large block's cell, plus BLOCK_PLACE_LARGE. 0: nowhere. docs/live-table.md has what a
 * pointer, or a distance from one, would cost the program.
 */
#define BLOCK_PLACE_LARGE (1u << 31)

/* A thread's own. Zero: empty. */
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

/* The place where the block at the address is, or was. 0: not known. */
static inline uint32_t block_near_find(const struct block_near *near, uint64_t address)
{
	uint32_t index = block_near_index(address);
	uint32_t place = (uint32_t)__atomic_load_n(&near->met[index].place, __ATOMIC_RELAXED);

	// In this order: a signal handler may come in between and note another block.
	compiler_barrier();
	return __atomic_load_n(&near->met[index].address, __ATOMIC_RELAXED) == address ? place : 0;
}

/* Notes a place. A signal handler in the middle of this finds none. */
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
