/*
 * Finds the head of a region by an address: a radix tree of three levels for each map of
 * trace/live.h.
 *
 *   map ──► top ──► middle: 8192 pointers ──► leaf: 256 heads, in the recording
 *
 * A leaf is made once and stays. Addresses are those of blocks: multiples of 8 below 1 <<
 * ARCH_ADDRESS_BITS. Other addresses have no head.
 *
 * Any thread, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_HEADS_H
#define MALLOW_AGENT_LIVE_BLOCKS_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/arch/machine.h"
#include "base/compiler.h"
#include "trace/live.h"

#define HEADS_MIDDLE_BITS 13

struct heads_middle {
	struct heads_middle *next; /* the one that was made before this one, for any map */
	unsigned int map;
	uint32_t *leaves[1u << HEADS_MIDDLE_BITS]; /* atomic */
};

/* Zero: empty. A map's top is an array of atomic pointers. */
struct heads {
	struct heads_middle **tops[LIVE_MAPS]; /* atomic */
	struct heads_middle *middles;          /* atomic: the one that was made last */
};

/* Rotate right by 3: if the address is no multiple of 8, a high bit is set and the test fails. */
static inline bool heads_has_place(uint64_t address)
{
	return likely(!((address >> 3 | address << 61) >> (ARCH_ADDRESS_BITS - 3)));
}

static inline uint32_t *heads_in(uint32_t *leaf, unsigned int map, uint64_t address)
{
	return &leaf[address >> live_maps[map].region_bits & (LIVE_LEAF_HEADS - 1)];
}

/*
 * The head (atomic) of the region that holds the address. NULL: no block ever began near there, or
 * none can.
 */
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
 * A thread's cache: the middles for small blocks where it was last. Each covers 2 GiB; one is kept
 * for where programs have their heap, and one for where they have mappings. Zero: none.
 */
struct heads_window {
	uint64_t number; /* of the 2 GiB of address space, plus 1 */
	const struct heads_middle *middle;
};
struct heads_near {
	struct heads_window windows[2];
};
#define HEADS_WINDOW_BITS (live_leaf_bits(LIVE_MAP_SMALL) + HEADS_MIDDLE_BITS)

/* heads_find() for small blocks by that cache. NULL: the address lies elsewhere, or has no head. */
static inline uint32_t *heads_near_find(const struct heads_near *near, uint64_t address)
{
	const struct heads_window *window = &near->windows[ARCH_MAPPINGS(address)];
	const struct heads_middle *middle = __atomic_load_n(&window->middle, __ATOMIC_RELAXED);
	uint32_t *leaf;

	// In this order: a signal handler may come in between and move the window.
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
 * Returns the name in a head, 0 if head is NULL, to a caller that will use the group. If the group
 * was leaving, makes it stay (reclaim.h).
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

/*
 * The same for the fast functions. It does not make a leaving group stay: to these functions such a
 * name is neither a full group's nor a wide one's, so they do not use the group.
 */
static inline uint32_t heads_name_fast(const uint32_t *head)
{
	return head ? __atomic_load_n(head, __ATOMIC_ACQUIRE) : 0;
}

/* Moves the thread's window to the address. */
void heads_near_move(struct heads_near *near, const struct heads *heads, uint64_t address);

/* heads_find(), but makes the head if it is missing. NULL: no memory, or no block can lie there. */
uint32_t *heads_reach(struct heads *heads, unsigned int map, uint64_t address);

/* Calls each(argument, head) for every head of a map. */
void heads_each(const struct heads *heads, unsigned int map,
		void (*each)(const void *argument, uint32_t *head), const void *argument);

/* A position in a walk round all leaves (a clock hand). Zero: before the first. */
struct heads_hand {
	const struct heads_middle *middle;
	uint32_t leaf; /* index of the next one in the middle */
};

/* Moves to the next leaf and returns it; *map: its map. NULL: the round is over. */
uint32_t *heads_go_on(const struct heads *heads, struct heads_hand *hand, unsigned int *map);

/* Frees tops and middles. The leaves are the caller's. */
void heads_release(struct heads *heads);

#endif
