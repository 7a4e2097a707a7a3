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

/* Where a thread was lately: leaves of the map of small blocks. Zero: nowhere. */
#define HEADS_NEAR_LEAVES 32u
struct heads_near {
	struct {
		uint64_t key; /* of addresses, plus 1; 0: none */
		uint32_t *leaf;
	} leaves[HEADS_NEAR_LEAVES];
};

/* The head (atomic) of the region that the address is in. NULL: nothing ever began thereabouts. */
uint32_t *heads_find(const struct heads *heads, unsigned int map, uint64_t address);

/* The same, made if it is not there. NULL: no memory. */
uint32_t *heads_reach(struct heads *heads, unsigned int map, uint64_t address);

/* The same of small blocks, noted for the next time; near may be NULL. */
uint32_t *heads_find_slow(const struct heads *heads, struct heads_near *near, uint64_t address);

static inline uint32_t *heads_find_small(const struct heads *heads, struct heads_near *near,
					 uint64_t address)
{
	unsigned int bits = live_leaf_bits(LIVE_MAP_SMALL);
	uint64_t key = (address >> bits) + 1;
	const __typeof__(near->leaves[0]) *found =
		near ? &near->leaves[key % HEADS_NEAR_LEAVES] : NULL;

	if (unlikely(!found || __atomic_load_n(&found->key, __ATOMIC_RELAXED) != key))
		return heads_find_slow(heads, near, address);
	return &found->leaf[address >> live_maps[LIVE_MAP_SMALL].region_bits &
			    (LIVE_LEAF_HEADS - 1)];
}

/* Calls each for every head of a map that there is. */
void heads_each(const struct heads *heads, unsigned int map,
		void (*each)(const void *argument, const uint32_t *head), const void *argument);

/* Gives the memory of tops and middles back; the leaves are the caller's. */
void heads_release(struct heads *heads);

#endif
