/*
 * The live blocks by address. Readers see the same memory: trace/live.h has its words bit by bit.
 *
 *   region   a piece of the program's memory: of 1 KiB for blocks below 1 KiB,
 *            for larger ones of 8, 256, or 8192 KiB, by their size
 *   head     of a region: a number that names the first group of what begins there
 *   cell     32 bytes of the table: four words
 *   group    1, 2 or 4 cells: a header, which names the next group of the region,
 *            and entries
 *   entry    one word: where in the region a block begins, its size, owner and time
 *
 *   memory      | region: 1 KiB         | region                | region                |
 *               |  #24  #100     #16    |                       | ######## full of them |
 *                 │                       │                       │
 *   heads         name of a group         0: nothing began here   name of a full group
 *                 │                                               │
 *                 ▼                                               ▼
 *   1 cell        | next | #24 | #100 | #16 |                     an entry for each 32 bytes
 *                   │
 *                   ▼ with more blocks: groups of 2 or 4 cells, by address (small_blocks.h)
 *
 *   A block of 1 KiB and more has a cell of its own, | next | address | state | size |.
 *   Those of a region are a chain (large_blocks.h).
 *
 * So the size of the table follows the number of blocks, not the memory that they are spread over.
 * A thread looks first where it met a block last (struct block_near). Empty groups are reclaimed
 * (reclaim.h).
 *
 * At a time there is one block at an address, and the allocator hands an address out again only
 * after the block there has ended. So an entry has one writer from its claim until it is free
 * again. Entries stay with their region, except those of empty groups that are reclaimed.
 *
 * Lock-free, any thread, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_BLOCK_TABLE_H
#define MALLOW_AGENT_LIVE_BLOCKS_BLOCK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/live_blocks/cells.h"
#include "agent/live_blocks/heads.h"
#include "agent/live_blocks/number_stack.h"
#include "base/compiler.h"
#include "trace/live.h"

/* Encoding and decoding the entry of a small block (trace/live.h). */
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

/*
 * A thread's cache of where in the table it met blocks last: most memory is freed and handed out
 * again soon. Entries of full and wide groups are not in it: the address alone leads to them. An
 * entry or cell may serve another block by now. Its content tells whether it still is that of the
 * block at the address, because it mostly stays with its region.
 *
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

/* Zero: empty. */
struct block_table {
	struct heads heads;
	struct cells cells;
	struct full_groups fulls;
	struct number_stack free_cells; /* single cells that large blocks have left */
};

/* The words of a group of cells, by its name (trace/live.h). */
static inline uint64_t *block_table_group(const struct block_table *table, uint32_t name)
{
	return cells_at(&table->cells, live_group_number(name));
}

/* The time of a block of that size, as the table keeps it. */
static inline uint32_t block_table_time(uint64_t ticks, uint64_t size)
{
	return live_time_pack(ticks, size < LIVE_LARGE_MIN ? LIVE_TIME_BITS : 32);
}

/*
 * Puts a new block in. *stale receives the block that was still at that address, because nobody saw
 * its end; its owner is 0 if there was none. false: there is no room, or the address is no multiple
 * of 8.
 *
 * Not every stale block is found. One stays in the table in two cases. It is large and the new one
 * small, so they are in different maps. Or the place where this thread met the address lately
 * (struct block_near) is free and is taken at once, while the stale block of another thread lies
 * elsewhere.
 */
bool block_table_put(struct block_table *table, struct block_near *near, uint64_t address,
		     const struct known_block *block, struct known_block *stale);

/* Takes a block out, because it ends. false: it is not there. */
bool block_table_take(const struct block_table *table, struct block_near *near, uint64_t address,
		      struct known_block *ret);

/* If the owner of the block at that address is `from`, changes it to `to` and returns true. */
bool block_table_change_owner(const struct block_table *table, uint64_t address, uint32_t from,
			      uint32_t to);

/* Takes all blocks out. Some that other threads put in meanwhile may stay. */
void block_table_empty(const struct block_table *table);

/* Frees the memory that is no chunk of the recording. */
void block_table_release(struct block_table *table);

#endif
