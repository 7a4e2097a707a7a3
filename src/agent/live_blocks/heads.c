#include "agent/live_blocks/heads.h"

#include <stddef.h>

#include "agent/ground/own_pages.h"
#include "agent/live_blocks/live_memory.h"

#define MIDDLE_LEAVES (1u << HEADS_MIDDLE_BITS)

static uint64_t leaf_number(unsigned int map, uint64_t address)
{
	return address >> live_leaf_bits(map);
}

static size_t top_count(unsigned int map)
{
	unsigned int below = live_leaf_bits(map) + HEADS_MIDDLE_BITS;

	return below < ARCH_ADDRESS_BITS ? (size_t)1 << (ARCH_ADDRESS_BITS - below) : 1;
}

static void list_middle(struct heads *heads, struct heads_middle *middle, unsigned int map)
{
	middle->map = map;
	middle->next = __atomic_load_n(&heads->middles, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&heads->middles, &middle->next, middle, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

uint32_t *heads_reach(struct heads *heads, unsigned int map, uint64_t address)
{
	uint64_t number = leaf_number(map, address);
	struct heads_middle **top, *middle;
	uint32_t **place, *leaf;
	bool own;

	if (!heads_has_place(address))
		return NULL;
	top = own_pages_once(&heads->tops[map], top_count(map) * sizeof(*top), &own);
	middle = top ? own_pages_once(&top[number / MIDDLE_LEAVES], sizeof(*middle), &own) : NULL;
	if (!middle)
		return NULL;
	if (unlikely(own))
		list_middle(heads, middle, map);
	place = &middle->leaves[number % MIDDLE_LEAVES];
	leaf = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	if (!leaf)
		leaf = live_memory_leaf(place, number << live_leaf_bits(map), map);
	return leaf ? heads_in(leaf, map, address) : NULL;
}

/* A signal handler that comes in between finds no window. */
void heads_near_move(struct heads_near *near, const struct heads *heads, uint64_t address)
{
	struct heads_window *window = &near->windows[ARCH_MAPPINGS(address)];
	uint64_t number = address >> HEADS_WINDOW_BITS;
	struct heads_middle **top = __atomic_load_n(&heads->tops[LIVE_MAP_SMALL], __ATOMIC_ACQUIRE);
	const struct heads_middle *middle =
		top && number < top_count(LIVE_MAP_SMALL)
			? __atomic_load_n(&top[number], __ATOMIC_ACQUIRE)
			: NULL;

	if (!middle || window->number == number + 1)
		return;
	__atomic_store_n(&window->number, 0, __ATOMIC_RELAXED);
	compiler_barrier();
	__atomic_store_n(&window->middle, middle, __ATOMIC_RELAXED);
	compiler_barrier();
	__atomic_store_n(&window->number, number + 1, __ATOMIC_RELAXED);
}

static void each_of_middle(const struct heads_middle *middle,
			   void (*each)(const void *argument, uint32_t *head), const void *argument)
{
	for (size_t i = 0; i < MIDDLE_LEAVES; i++) {
		uint32_t *leaf = __atomic_load_n(&middle->leaves[i], __ATOMIC_ACQUIRE);

		for (size_t j = 0; leaf && j < LIVE_LEAF_HEADS; j++)
			each(argument, &leaf[j]);
	}
}

void heads_each(const struct heads *heads, unsigned int map,
		void (*each)(const void *argument, uint32_t *head), const void *argument)
{
	const struct heads_middle *middle = __atomic_load_n(&heads->middles, __ATOMIC_ACQUIRE);

	for (; middle; middle = middle->next)
		if (middle->map == map)
			each_of_middle(middle, each, argument);
}

/* The next leaf of the hand's middle. NULL: there is none. */
static uint32_t *next_leaf(struct heads_hand *hand)
{
	uint32_t *leaf = NULL;

	while (!leaf && hand->leaf < MIDDLE_LEAVES)
		leaf = __atomic_load_n(&hand->middle->leaves[hand->leaf++], __ATOMIC_ACQUIRE);
	return leaf;
}

uint32_t *heads_go_on(const struct heads *heads, struct heads_hand *hand, unsigned int *map)
{
	uint32_t *leaf = NULL;

	if (!hand->middle)
		*hand = (struct heads_hand){__atomic_load_n(&heads->middles, __ATOMIC_ACQUIRE), 0};
	while (hand->middle && !(leaf = next_leaf(hand)))
		*hand = (struct heads_hand){hand->middle->next, 0};
	if (leaf)
		*map = hand->middle->map;
	return leaf;
}

void heads_release(struct heads *heads)
{
	struct heads_middle *middle = heads->middles;

	while (middle) {
		struct heads_middle *next = middle->next;

		own_pages_release(middle, sizeof(*middle));
		middle = next;
	}
	for (unsigned int map = 0; map < LIVE_MAPS; map++)
		if (heads->tops[map])
			own_pages_release(heads->tops[map],
					  top_count(map) * sizeof(*heads->tops[map]));
	*heads = (struct heads){0};
}
