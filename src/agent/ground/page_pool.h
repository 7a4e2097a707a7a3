/*
 * The agent's memory: pages from the kernel, never from the program's allocator, and seldom given
 * back. Lock-free and async-signal-safe; memory is zeroed.
 */
#ifndef MALLOW_AGENT_GROUND_PAGE_POOL_H
#define MALLOW_AGENT_GROUND_PAGE_POOL_H

#include <stdbool.h>
#include <stddef.h>

/* Rounded up to pages. NULL: the kernel has none (RLIMIT_AS), or may no longer be asked. */
void *page_pool_allocate(size_t size);

/*
 * Gives the memory of page_pool_allocate() back, where that is possible: none of a reserve. While
 * system calls are allowed.
 */
void page_pool_release(void *memory, size_t size);

/*
 * Prepares for a time without system calls (seccomp): size bytes of address space, touched only
 * when used, serve page_pool_allocate() from now on, until page_pool_end_reserve().
 */
bool page_pool_begin_reserve(size_t size);
void page_pool_end_reserve(void);

#endif
