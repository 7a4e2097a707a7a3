/*
 * The agent's memory: pages from the kernel, never from the program's allocator, and seldom given
 * back. Lock-free and async-signal-safe; memory is zeroed.
 */
#ifndef MALLOW_AGENT_GROUND_OWN_PAGES_H
#define MALLOW_AGENT_GROUND_OWN_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Rounded up to pages. NULL: the kernel has none (RLIMIT_AS), or may no longer be asked. */
void *own_pages_allocate(size_t size);

/*
 * Gives the memory of own_pages_allocate() back, where that is possible: none of a reserve. While
 * system calls are allowed.
 */
void own_pages_release(void *memory, size_t size);

/*
 * Prepares for a time without system calls (seccomp): size bytes of address space, touched only
 * when used, serve own_pages_allocate() from now on, until own_pages_end_reserve().
 */
bool own_pages_begin_reserve(size_t size);
void own_pages_end_reserve(void);

#endif
