/* SAMPLE with MODE=live: what a block counts for in the table's sums, and which blocks are samples.
 */
#ifndef MALLOW_AGENT_LIVE_LIVE_SAMPLED_H
#define MALLOW_AGENT_LIVE_LIVE_SAMPLED_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/ground/config.h"
#include "base/compiler.h"

/* What a block adds to sums: 1 and its size; more if it is a sample. */
struct weight {
	uint64_t calls, bytes;
};

/* The weight of a sample: 1 / the probability that it became one (admission.h). */
struct weight weight_of_sample(uint64_t size, uint64_t mean);

static inline struct weight weight_of(uint64_t size)
{
	uint64_t mean = config.value[SETTING_SAMPLE];

	return likely(!mean) ? (struct weight){1, size} : weight_of_sample(size, mean);
}

/*
 * A counting Bloom filter, with one hash function, of the addresses of sampled blocks (SAMPLE with
 * MODE=live). Most blocks that end are no samples, and their ends go no further than this. Blocks
 * next to each other have the same hash or the next one, so a cache line covers 2 KiB of memory. A
 * program works in few such pieces at a time.
 *
 * Kept across fork: after a handler forked, hooks in the child may look here before it begins. A
 * table of its own begins with live_sampled_clear().
 *
 * Any thread, async-signal-safe.
 */
#define LIVE_SAMPLED (1u << 16)

/*
 * The place is the lower 16 bits of address / 2^5 + address / 2^21 + address / 2^37. So blocks that
 * begin on pages, or on larger boundaries, are spread over many places.
 */
#define LIVE_SAMPLED_HASH (UINT64_C(1) << 43 | UINT64_C(1) << 27 | UINT64_C(1) << 11)

/* Atomic counts. LIVE_SAMPLED_ALWAYS: more than can be counted, or watched. */
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

/* From now on live_sampled_has() is true for that address, sampled or not. */
void live_sampled_watch(uint64_t address);

/* Forgets all samples. What is watched stays so. */
void live_sampled_clear(void);

#endif
