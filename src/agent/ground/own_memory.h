/*
 * The part of the process's memory that is the agent's own. Memory samples leave it out, so that
 * they show the program as it is without us.
 */
#ifndef MALLOW_AGENT_GROUND_OWN_MEMORY_H
#define MALLOW_AGENT_GROUND_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In bytes. */
struct own_memory {
	uint64_t virtual_size; /* mapped */
	uint64_t anonymous;    /* resident */
};

/* Notes pages of own_pages.h. Lock-free, any thread, any signal handler. */
void own_memory_note(void *start, size_t size);

/* Forgets pages that their owner is about to unmap. false: they were not noted so. */
bool own_memory_forget(const void *start, size_t size);

/* So many pieces of each kind are looked at, so that a sample takes a millisecond at most. */
#define OWN_MEMORY_LOOKS 512

/* Resident bytes of a mapping; 0 if it is gone meanwhile. */
uint64_t own_memory_resident(const void *start, size_t size);

/* Measures them and the library by mincore(). In a signal bracket; system calls must be allowed. */
void own_memory_measure(struct own_memory *ret);

#endif
