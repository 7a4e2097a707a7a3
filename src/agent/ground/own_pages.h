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
 * What *place (an atomic pointer) points to; zeroed pages of that size, made now if it is NULL. Of
 * several threads that make them the first wins, and *own is set for that one. NULL: no memory.
 */
static inline void *own_pages_once(void *place, size_t size, bool *own)
{
	void **at = place, *there = __atomic_load_n(at, __ATOMIC_ACQUIRE), *made;

	*own = false;
	if (there)
		return there;
	made = own_pages_allocate(size);
	if (!made)
		return NULL;
	*own = __atomic_compare_exchange_n(at, &there, made, false, __ATOMIC_RELEASE,
					   __ATOMIC_ACQUIRE);
	if (*own)
		return made;
	own_pages_release(made, size);
	return there;
}

/*
 * Prepares for a time without system calls (seccomp): reserves size bytes of address space. From
 * now on own_pages_allocate() takes from there, until own_pages_end_reserve(). Pages of the reserve
 * cost memory only once they are used. false: the kernel has no such space, and nothing changed.
 */
bool own_pages_begin_reserve(size_t size);
void own_pages_end_reserve(void);

#endif
