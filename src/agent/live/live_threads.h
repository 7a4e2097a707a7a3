/*
 * Who allocated and who freed, as numbers of threads (trace/live.h). A thread's numbers are written
 * by it alone; number 0 is everybody's who came when there was no other left. A thread that has
 * ended leaves its number to the next of its name, so that nothing grows with threads that come
 * and go.
 */
#ifndef MALLOW_AGENT_LIVE_LIVE_THREADS_H
#define MALLOW_AGENT_LIVE_LIVE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/live/add.h"
#include "agent/live/sites.h"
#include "base/compiler.h"
#include "trace/live.h"

#define LIVE_ROWS 32 /* threads whose sums of what they freed lie in a chunk: 512 KiB */

/* Zero: no memory yet. */
struct live_threads {
	struct live_thread *entries;                        /* LIVE_THREADS */
	struct live_freed *freed[LIVE_THREADS / LIVE_ROWS]; /* LIVE_THREADS of each */
	uint32_t lock;
};

/* false: no memory. */
bool live_threads_begin(struct live_threads *threads, struct live_header *header);

/* The number for a thread of that name, which runs from now on. In a slow bracket. */
uint32_t live_threads_claim(struct live_threads *threads, struct live_header *header, int tid,
			    const char *name);

/* It has ended, or has another name from now on. */
void live_threads_leave(struct live_threads *threads, uint32_t number);

/* Number 0 has several writers. */
static inline void live_add(uint32_t number, uint64_t *sum, uint64_t value)
{
	add_as(number != 0, sum, value);
}

static inline void live_threads_allocate(struct live_threads *threads, uint32_t number,
					 struct weight weight)
{
	struct live_thread *entry = &threads->entries[number];

	live_add(number, &entry->calls, weight.calls);
	live_add(number, &entry->bytes, weight.bytes);
}

/* The thread `number` frees a block of owner's. */
static inline void live_threads_free(struct live_threads *threads, uint32_t number, uint32_t owner,
				     struct weight weight)
{
	struct live_freed *entry =
		&threads->freed[number / LIVE_ROWS][number % LIVE_ROWS * LIVE_THREADS + owner];

	live_add(number, &entry->calls, weight.calls);
	live_add(number, &entry->bytes, weight.bytes);
}

#endif
