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
 * A thread looks first where it met a block last (block_near.h). Empty groups are reclaimed
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

#include "agent/live_blocks/block_entry.h"
#include "agent/live_blocks/block_near.h"
#include "agent/live_blocks/cells.h"
#include "agent/live_blocks/full_groups.h"
#include "agent/live_blocks/heads.h"
#include "agent/live_blocks/number_stack.h"
#include "trace/live.h"

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
 * (block_near.h) is free and is taken at once, while the stale block of another thread lies
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
