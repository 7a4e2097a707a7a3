/*
 * The heads of regions of memory, by address, in the maps of trace/live.h:
 *
 *   map ──► top ──► middle: 2048 pointers ──► leaf: 1024 heads, a page in the recording
 *
 * A leaf is made once, and stays.
 *
 * Any thread, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_HEADS_H
#define MALLOW_AGENT_LIVE_HEADS_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "trace/live.h"

#define HEADS_ADDRESS_BITS 47
#define HEADS_MIDDLE_BITS  11

struct heads_middle {
	uint32_t *leaves[1u << HEADS_MIDDLE_BITS]; /* atomic */
};

/* Zero: empty. A map's top is an array of atomic pointers. */
struct heads {
	struct heads_middle **tops[LIVE_MAPS]; /* atomic */
};

static inline uint32_t *heads_in(uint32_t *leaf, unsigned int map, uint64_t address)
{
	return &leaf[address >> live_maps[map].region_bits & (LIVE_LEAF_HEADS - 1)];
}

/* The head (atomic) of the region that the address is in. NULL: nothing ever began thereabouts. */
static inline uint32_t *heads_find(const struct heads *heads, unsigned int map, uint64_t address)
{
	uint64_t number = address >> live_leaf_bits(map);
	struct heads_middle **top, *middle;
	uint32_t *leaf;

	if (unlikely(address >> HEADS_ADDRESS_BITS))
		return NULL;
	top = __atomic_load_n(&heads->tops[map], __ATOMIC_ACQUIRE);
	if (unlikely(!top))
		return NULL;
	middle = __atomic_load_n(&top[number >> HEADS_MIDDLE_BITS], __ATOMIC_ACQUIRE);
	if (unlikely(!middle))
		return NULL;
	leaf = __atomic_load_n(&middle->leaves[number & ((1u << HEADS_MIDDLE_BITS) - 1)],
			       __ATOMIC_ACQUIRE);
	return likely(leaf) ? heads_in(leaf, map, address) : NULL;
}

/* The same, made if it is not there. NULL: no memory. */
uint32_t *heads_reach(struct heads *heads, unsigned int map, uint64_t address);

/* Calls each for every head of a map that there is. */
void heads_each(const struct heads *heads, unsigned int map,
		void (*each)(const void *argument, const uint32_t *head), const void *argument);

/* Gives the memory of tops and middles back; the leaves are the caller's. */
void heads_release(struct heads *heads);

#endif
