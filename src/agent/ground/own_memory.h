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

/*
 * Notes pages of own_pages.h as the agent's own. Without memory for the note they count as the
 * program's. Lock-free, any thread, any signal handler.
 */
void own_memory_note(void *start, size_t size);

/*
 * Forgets pages that their owner is about to unmap. false: no pages were noted with exactly this
 * start and size.
 */
bool own_memory_forget(const void *start, size_t size);

/*
 * A sample looks at no more pieces of memory than this, and at no more slots (memory_use.c), so
 * that it takes no more than a millisecond. It assumes that the other pieces are resident in the
 * same proportion, and it counts the other slots in full.
 */
#define OWN_MEMORY_LOOKS 512

/*
 * Opens what the functions below read: /proc/self/pagemap, which the caller closes. Below 0: there
 * is no /proc, and nothing counts as resident. Not mincore(): filters that allow what services need
 * (systemd's @system-service) kill a program for it.
 */
int own_memory_open(void);

/* Resident bytes of a mapping; too few, or 0, if parts of it are unmapped meanwhile. */
uint64_t own_memory_resident(int pages, const void *start, size_t size);

/*
 * Measures the noted pages and the library's own image. Call it in a signal bracket, and only while
 * system calls are allowed.
 */
void own_memory_measure(int pages, struct own_memory *ret);

#endif
