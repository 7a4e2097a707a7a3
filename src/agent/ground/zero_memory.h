/*
 * ZERO_MEMORY: all memory that the program allocates is zero, up to the usable size. It stays zero
 * beyond the requested size, so that a realloc finds zeros there, too. If a program behaves
 * differently with it, the program reads memory that it never wrote.
 *
 * The hooks then call these functions in place of the real ones. Without the setting nothing costs
 * more.
 */
#ifndef MALLOW_AGENT_GROUND_ZERO_MEMORY_H
#define MALLOW_AGENT_GROUND_ZERO_MEMORY_H

#include <stddef.h>

/* Puts these functions between the hooks and the allocator. Once, when the settings are read. */
void zero_memory_begin(void);

/*
 * Zeroes the block that an operator new returned, if it may not come from the functions above
 * because it is an allocator's own operator. Returns the block.
 */
void *zero_memory_from_operator(void *block, size_t size);

#endif
