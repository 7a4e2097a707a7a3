/*
 * The memory of the live table that readers see: chunks of the recording, which is a file in memory
 * that nobody can name (trace/live.h). They are sparse and never given back, and mapped in
 * children, too, until those begin a table of their own.
 *
 * Making one is rare: in a signal bracket, under a lock that is waited for a few milliseconds.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_LIVE_MEMORY_H
#define MALLOW_AGENT_LIVE_BLOCKS_LIVE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/live.h"

/*
 * The array of a new chunk, for entries from number `first` on; *place is where it is to be
 * published. Another thread's, if that came first. NULL: no memory.
 */
void *live_memory_array(void *place, enum live_part part, uint32_t entry_size, uint64_t first,
			uint64_t count);

/* The same of a leaf: heads of the memory from address on in a map. */
uint32_t *live_memory_leaf(uint32_t **place, uint64_t address, unsigned int map);

/* All entries of that part are zero again, and the kernel has their memory. In a signal bracket. */
void live_memory_empty(enum live_part part);

/* What a parent mapped is unmapped. In a signal bracket, before a table begins. */
void live_memory_forget(void);

/*
 * In the child of a fork that interrupted a change of the table (agent/life/fork.h): from now on
 * that changes memory of its own.
 */
void live_memory_detach(void);

#endif
