/*
 * The sums of each thread: what it allocated, and whose blocks it freed (trace/live.h). A thread
 * has a number, and writes the sums of its number alone. Threads for which no number was left share
 * number 0. When a thread has ended, the next one of the same name gets its number. So nothing
 * grows with threads that come and go.
 */
#ifndef MALLOW_AGENT_LIVE_LIVE_THREADS_H
#define MALLOW_AGENT_LIVE_LIVE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/arch/atomic_add.h"
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

/* The sums that a thread counts in, found once. Zero: not yet. */
struct live_sums {
	uint32_t number;
	uint32_t tag; /* site_parts_tag(); with samples the same for all threads */
	struct live_thread *allocated;
	struct live_freed *freed; /* by owner */
};

/* false: no memory. */
bool live_threads_begin(struct live_threads *threads, struct live_header *header);

/* Takes a number for a thread of that name, which runs from now on. In a signal bracket. */
uint32_t live_threads_claim(struct live_threads *threads, struct live_header *header, int tid,
			    const char *name);

/* The sums of that number, which is 0 or from live_threads_claim(). */
struct live_sums live_threads_sums(const struct live_threads *threads, uint32_t number);

/* The thread of that number has ended, or has another name from now on. */
void live_threads_leave(struct live_threads *threads, uint32_t number);

/* Whether the thread alone writes these sums: number 0 has several writers. */
static inline bool live_threads_own(const struct live_sums *sums)
{
	return sums->number != 0;
}

/* own: live_threads_own(). */
static inline void live_threads_allocate_as(bool own, const struct live_sums *sums,
					    struct weight weight)
{
	struct live_thread *entry = sums->allocated;

	atomic_add_as(own, &entry->calls, weight.calls);
	atomic_add_as(own, &entry->bytes, weight.bytes);
}

static inline void live_threads_allocate(const struct live_sums *sums, struct weight weight)
{
	live_threads_allocate_as(live_threads_own(sums), sums, weight);
}

/* What that thread freed, by owner, for readers. NULL: its chunk is not made yet. */
static inline const struct live_freed *live_threads_row(const struct live_threads *threads,
							uint32_t number)
{
	const struct live_freed *chunk =
		__atomic_load_n(&threads->freed[number / LIVE_ROWS], __ATOMIC_ACQUIRE);

	return chunk ? &chunk[number % LIVE_ROWS * LIVE_THREADS] : NULL;
}

/* Counts the end of a block that the thread `owner` allocated. */
static inline void live_threads_free_as(bool own, const struct live_sums *sums, uint32_t owner,
					struct weight weight)
{
	struct live_freed *entry = &sums->freed[owner];

	atomic_add_as(own, &entry->calls, weight.calls);
	atomic_add_as(own, &entry->bytes, weight.bytes);
}

#endif
