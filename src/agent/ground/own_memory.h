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
	uint64_t anonymous;    /* resident: the pool, and with private slots these too */
	uint64_t slots;        /* resident: shared mappings of the recording's file */
};

/* Pages of the pool. Lock-free, any thread, any signal handler. */
void own_memory_note(void *start, size_t size);

/* Pages that are about to be given back, by their owner. false: nobody noted them so. */
bool own_memory_forget(const void *start, size_t size);

/* As of now, by mincore(). In a signal bracket, while system calls are allowed. */
void own_memory_measure(struct own_memory *ret);

#endif
