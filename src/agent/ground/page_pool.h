/*
 * The agent's memory: pages from the kernel, never from the program's allocator, and rarely given
 * back. Lock-free and async-signal-safe; memory is zeroed.
 */
#ifndef MALLOW_AGENT_GROUND_PAGE_POOL_H
#define MALLOW_AGENT_GROUND_PAGE_POOL_H

#include <stdbool.h>
#include <stddef.h>

/* Allocates whole pages. NULL: the kernel has none (RLIMIT_AS), or may no longer be asked. */
void *page_pool_allocate(size_t size);

/*
 * Gives memory of page_pool_allocate() back to the kernel. Memory of a reserve stays. While system
 * calls are allowed.
 */
void page_pool_release(void *memory, size_t size);

/*
 * Prepares for a time without system calls (seccomp): reserves size bytes of address space. From
 * now on page_pool_allocate() takes from there, until page_pool_end_reserve(). Pages are touched
 * only when used.
 */
bool page_pool_begin_reserve(size_t size);
void page_pool_end_reserve(void);

#endif
