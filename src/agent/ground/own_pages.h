/*
 * The agent's memory: pages from the kernel, never from the program's allocator, and rarely given
 * back. Lock-free and async-signal-safe; memory is zeroed.
 */
#ifndef MALLOW_AGENT_GROUND_OWN_PAGES_H
#define MALLOW_AGENT_GROUND_OWN_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Allocates whole pages. NULL: the kernel has none (RLIMIT_AS), or may no longer be asked. */
void *own_pages_allocate(size_t size);

/*
 * Gives memory of own_pages_allocate() back to the kernel. size: as it was asked for. Does nothing
 * for memory of a reserve. Only while system calls are allowed.
 */
void own_pages_release(void *memory, size_t size);

/*
 * Prepares for a time without system calls (seccomp): reserves size bytes of address space. From
 * now on own_pages_allocate() takes from there, until own_pages_end_reserve(). Pages of the reserve
 * cost memory only once they are used. false: the kernel has no such space, and nothing changed.
 */
bool own_pages_begin_reserve(size_t size);
void own_pages_end_reserve(void);

#endif
