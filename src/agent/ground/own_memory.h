/*
 * What of the process's memory is the agent's own: memory samples leave it out, so that they show
 * the program as it is without us.
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

/* Pages of own_pages.h. Lock-free, any thread, any signal handler. */
void own_memory_note(void *start, size_t size);

/* Pages that are about to be given back, by their owner. false: nobody noted them so. */
bool own_memory_forget(const void *start, size_t size);

/* Of each kind so many are looked at: a sample takes a millisecond at most. */
#define OWN_MEMORY_LOOKS 512

/* Resident bytes of a mapping; 0 where it is gone meanwhile. */
uint64_t own_memory_resident(const void *start, size_t size);

/* Of these pages and the image, as of now, by mincore(). In a signal bracket, while system calls
 * are allowed. */
void own_memory_measure(struct own_memory *ret);

#endif
