/*
 * Memory of a report of the C API: an arena of the agent's own pages, freed all at once. Not from
 * malloc, whose sums it would change. For one thread; not for signal handlers.
 */
#ifndef MALLOW_AGENT_REPORT_REPORT_MEMORY_H
#define MALLOW_AGENT_REPORT_REPORT_MEMORY_H

#include <stddef.h>

struct report_region;

/* Zero: empty. */
struct report_memory {
	struct report_region *regions;
};

/* Allocates zeroed memory, aligned for anything. NULL: there is none. */
void *report_memory_take(struct report_memory *memory, size_t size);

void report_memory_release(struct report_memory *memory);

#endif
