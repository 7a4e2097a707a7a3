/*
 * What the live table takes from the rest of the agent, for tests of it: memory, of which so many
 * chunks are there, and the kernel's locks.
 */
#ifndef TESTS_UNIT_LIVE_MEMORY_FAKE_H
#define TESTS_UNIT_LIVE_MEMORY_FAKE_H

#include <stddef.h>

extern size_t fake_memory_left; /* so many more leaves, arrays and pages of the pool */
extern size_t fake_memory_leaves;

/* Gives all of it back. */
void fake_memory_reset(void);

#endif
