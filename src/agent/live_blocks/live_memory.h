/*
 * The memory of the live table that readers see: chunks of the recording, which is a file in memory
 * without a name (trace/live.h). The chunks are sparse and never freed. Children have them mapped,
 * too, until they begin a table of their own.
 *
 * Making a chunk is rare. It happens in a signal bracket, under a lock that is waited for, some
 * milliseconds at most.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_LIVE_MEMORY_H
#define MALLOW_AGENT_LIVE_BLOCKS_LIVE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/live.h"

/*
 * Makes a chunk for the entries from number `first` on, and stores the address of its array in
 * *place. Returns what is at *place then, which is another thread's if that came first. NULL: no
 * memory.
 */
void *live_memory_array(void *place, enum live_part part, uint32_t entry_size, uint64_t first,
			uint64_t count);

/* The same for a leaf: the heads of the memory from address on, in a map. */
uint32_t *live_memory_leaf(uint32_t **place, uint64_t address, unsigned int map);

/* Clears all entries of that part, and returns their memory to the kernel. In a signal bracket. */
void live_memory_empty(enum live_part part);

/* Unmaps what a parent has mapped. In a signal bracket, before a table begins. */
void live_memory_forget(void);

/*
 * In the child of a fork that interrupted a change of the table (agent/life/fork.h): replaces the
 * chunks by private memory, which the change goes on in.
 */
void live_memory_detach(void);

#endif
