/*
 * ZERO_MEMORY: whatever the program allocates is zero, as calloc's blocks are, up to the usable
 * size, and stays so beyond what it asked for, so that a realloc finds it zero there, too. A
 * program that behaves differently with it reads memory that it never wrote.
 *
 * Done behind the hooks, which call these functions in place of the real ones then, and cost
 * nothing more otherwise.
 */
#ifndef MALLOW_AGENT_GROUND_ZERO_MEMORY_H
#define MALLOW_AGENT_GROUND_ZERO_MEMORY_H

#include <stddef.h>

/* Puts itself between the hooks and the allocator. Once, when the settings are read. */
void zero_memory_begin(void);

/*
 * What an operator new gave: zeroed where it may not come from the functions above, because it is
 * an allocator's own. Returns the block.
 */
void *zero_memory_from_operator(void *block, size_t size);

#endif
