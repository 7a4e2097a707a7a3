/*
 * SAMPLE, MODE=live: how many of the sampled blocks have addresses of a hash. Most ends are those
 * of others, and go no further than this. Neighbours have the same hash or the next: a line of the
 * cache tells of 2 KiB of memory, and the program leaves most of them alone for a while.
 *
 * Kept across fork, as what a signal handler left in a child may look here before that has begun: a
 * table of its own begins with live_sampled_clear().
 *
 * Any thread, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_LIVE_SAMPLED_H
#define MALLOW_AGENT_LIVE_LIVE_SAMPLED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

#define LIVE_SAMPLED (1u << 16)

/*
 * By it the place is address / 2^5 + address / 2^21 + address / 2^37, the lower 16 bits: blocks
 * that begin on pages, or on larger ones, do not meet in a few.
 */
#define LIVE_SAMPLED_HASH (UINT64_C(1) << 43 | UINT64_C(1) << 27 | UINT64_C(1) << 11)

/* Atomic. LIVE_SAMPLED_ALWAYS: more than can be counted, or watched. */
extern uint8_t live_sampled[LIVE_SAMPLED] hidden;

#define LIVE_SAMPLED_ALWAYS UINT8_MAX

static inline uint8_t *live_sampled_place(uint64_t address)
{
	return &live_sampled[address * LIVE_SAMPLED_HASH >> 48];
}

/* false: the block at that address is no sample. */
static inline bool live_sampled_has(uint64_t address)
{
	return __atomic_load_n(live_sampled_place(address), __ATOMIC_RELAXED);
}

/* A sampled block begins, or ends. */
void live_sampled_note(uint64_t address, bool begins);

/* From now on, whatever is sampled: the end of the block at that address is to be seen. */
void live_sampled_watch(uint64_t address);

/* There are none. What is watched stays so. */
void live_sampled_clear(void);

#endif
