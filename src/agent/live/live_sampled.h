/*
 * SAMPLE, MODE=live: how many of the sampled blocks have addresses of a hash. Most ends are those
 * of others, and go no further than this.
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

#define LIVE_SAMPLED (1u << 16)

extern uint8_t live_sampled[LIVE_SAMPLED]; /* atomic; 255: more than can be counted */

static inline uint8_t *live_sampled_place(uint64_t address)
{
	return &live_sampled[(address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 48];
}

/* false: the block at that address is no sample. */
static inline bool live_sampled_has(uint64_t address)
{
	return __atomic_load_n(live_sampled_place(address), __ATOMIC_RELAXED);
}

/* A sampled block begins, or ends. */
void live_sampled_note(uint64_t address, bool begins);

/* There are none. */
void live_sampled_clear(void);

#endif
