/*
 * The heads of regions of memory, by address, in the maps of trace/live.h:
 *
 *   map ──► top ──► middle: 8192 pointers ──► leaf: 256 heads, in the recording
 *
 * A leaf is made once, and stays. Addresses are those of blocks: multiples of 8 below 1 << 47. For
 * all others there is no head.
 *
 * Any thread, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_HEADS_H
#define MALLOW_AGENT_LIVE_BLOCKS_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "trace/live.h"

#define HEADS_ADDRESS_BITS 47
#define HEADS_MIDDLE_BITS  13

struct heads_middle {
	struct heads_middle *next; /* made before this one, of any map */
	unsigned int map;
	uint32_t *leaves[1u << HEADS_MIDDLE_BITS]; /* atomic */
};

/* Zero: empty. A map's top is an array of atomic pointers. */
struct heads {
	struct heads_middle **tops[LIVE_MAPS]; /* atomic */
	struct heads_middle *middles;          /* atomic: the one that was made last */
};

/*
 * Rotate right by 3: an address that is no multiple of 8 gets a high bit set, and fails the test of
 * the range.
 */
static inline bool heads_has_place(uint64_t address)
{
	return likely(!((address >> 3 | address << 61) >> (HEADS_ADDRESS_BITS - 3)));
}

static inline uint32_t *heads_in(uint32_t *leaf, unsigned int map, uint64_t address)
{
	return &leaf[address >> live_maps[map].region_bits & (LIVE_LEAF_HEADS - 1)];
}

/* The head (atomic) of the region that holds the address. NULL: no block ever began near there. */
static inline uint32_t *heads_find(const struct heads *heads, unsigned int map, uint64_t address)
{
	uint64_t number = address >> live_leaf_bits(map);
	struct heads_middle **top, *middle;
	uint32_t *leaf;

	if (!heads_has_place(address))
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

/*
 * Where a thread was last in the map of small blocks: 2 GiB where programs have their heap, and 2
 * GiB where they have mappings. Zero: nowhere.
 */
struct heads_window {
	uint64_t number; /* of the address space's windows, plus 1 */
	const struct heads_middle *middle;
};
struct heads_near {
	struct heads_window windows[2];
};
#define HEADS_WINDOW_BITS  (live_leaf_bits(LIVE_MAP_SMALL) + HEADS_MIDDLE_BITS)
#define HEADS_MAPPINGS_BIT 45 /* 0 where Linux puts the heap, 1 where it puts mappings */

/* heads_find() for small blocks there. NULL: it is elsewhere, or not there. */
static inline uint32_t *heads_near_find(const struct heads_near *near, uint64_t address)
{
	const struct heads_window *window = &near->windows[address >> HEADS_MAPPINGS_BIT & 1];
	const struct heads_middle *middle = __atomic_load_n(&window->middle, __ATOMIC_RELAXED);
	uint32_t *leaf;

	// In this order: a signal handler may come in between and be elsewhere.
	compiler_barrier();
	if (unlikely(address & 7 || __atomic_load_n(&window->number, __ATOMIC_RELAXED) !=
					    (address >> HEADS_WINDOW_BITS) + 1))
		return NULL;
	leaf = __atomic_load_n(&middle->leaves[address >> live_leaf_bits(LIVE_MAP_SMALL) &
					       ((1u << HEADS_MIDDLE_BITS) - 1)],
			       __ATOMIC_ACQUIRE);
	return likely(leaf) ? heads_in(leaf, LIVE_MAP_SMALL, address) : NULL;
}

/*
 * The name in a head (NULL: 0), for whoever then uses what it names: a group that was leaving stays
 * (reclaim.h).
 */
static inline uint32_t heads_name(uint32_t *head, unsigned int map)
{
	uint32_t name = head ? __atomic_load_n(head, __ATOMIC_ACQUIRE) : 0, staying;

	while (unlikely(name & LIVE_LEAVING)) {
		staying = live_group_staying(name, map);
		if (__atomic_compare_exchange_n(head, &name, staying, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			name = staying;
	}
	return name;
}

/* The same for the fast ways, to whom one that is leaving is none of a full group. */
static inline uint32_t heads_name_fast(const uint32_t *head)
{
	return head ? __atomic_load_n(head, __ATOMIC_ACQUIRE) : 0;
}

/* The thread is at that address now. */
void heads_near_move(struct heads_near *near, const struct heads *heads, uint64_t address);

/* The same, made if it is not there. NULL: no memory. */
uint32_t *heads_reach(struct heads *heads, unsigned int map, uint64_t address);

/* Calls each for every head of a map that there is. */
void heads_each(const struct heads *heads, unsigned int map,
		void (*each)(const void *argument, uint32_t *head), const void *argument);

/* Goes round all leaves. Zero: before all. */
struct heads_hand {
	const struct heads_middle *middle;
	uint32_t leaf; /* the next one in there */
};

/* The next leaf, and its map. NULL: it has been round, and begins again. */
uint32_t *heads_go_on(const struct heads *heads, struct heads_hand *hand, unsigned int *map);

/* Gives the memory of tops and middles back; the leaves are the caller's. */
void heads_release(struct heads *heads);

#endif
