#include "agent/live/heads.h"

#include <stdbool.h>
#include <stddef.h>

#include "agent/live/live_memory.h"
#include "agent/pool.h"

#define MIDDLE_LEAVES (1u << HEADS_MIDDLE_BITS)

static uint64_t leaf_number(unsigned int map, uint64_t address)
{
	return address >> live_leaf_bits(map);
}

static size_t top_count(unsigned int map)
{
	return (size_t)1 << (HEADS_ADDRESS_BITS - live_leaf_bits(map) - HEADS_MIDDLE_BITS);
}

/* What a pointer leads to, made if it is not there yet. Of several makers the first counts. */
static void *reach(void *pointer, size_t size)
{
	void **at = pointer, *there = __atomic_load_n(at, __ATOMIC_ACQUIRE), *made;

	if (there)
		return there;
	made = pool_allocate(size);
	if (!made)
		return NULL;
	if (__atomic_compare_exchange_n(at, &there, made, false, __ATOMIC_RELEASE,
					__ATOMIC_ACQUIRE))
		return made;
	pool_release(made, size);
	return there;
}

uint32_t *heads_reach(struct heads *heads, unsigned int map, uint64_t address)
{
	uint64_t number = leaf_number(map, address);
	struct heads_middle **top, *middle;
	uint32_t **place, *leaf;

	if (address >> HEADS_ADDRESS_BITS)
		return NULL;
	top = reach(&heads->tops[map], top_count(map) * sizeof(*top));
	middle = top ? reach(&top[number / MIDDLE_LEAVES], sizeof(*middle)) : NULL;
	if (!middle)
		return NULL;
	place = &middle->leaves[number % MIDDLE_LEAVES];
	leaf = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	if (!leaf)
		leaf = live_memory_leaf(place, number << live_leaf_bits(map), map);
	return leaf ? heads_in(leaf, map, address) : NULL;
}

/* A signal handler may come in between: it finds no window. */
void heads_near_move(struct heads_near *near, const struct heads *heads, uint64_t address)
{
	struct heads_window *window = &near->windows[address >> HEADS_MAPPINGS_BIT & 1];
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
			   void (*each)(const void *argument, const uint32_t *head),
			   const void *argument)
{
	for (size_t i = 0; i < MIDDLE_LEAVES; i++) {
		const uint32_t *leaf = __atomic_load_n(&middle->leaves[i], __ATOMIC_ACQUIRE);

		for (size_t j = 0; leaf && j < LIVE_LEAF_HEADS; j++)
			each(argument, &leaf[j]);
	}
}

void heads_each(const struct heads *heads, unsigned int map,
		void (*each)(const void *argument, const uint32_t *head), const void *argument)
{
	struct heads_middle **top = __atomic_load_n(&heads->tops[map], __ATOMIC_ACQUIRE);

	for (size_t i = 0; top && i < top_count(map); i++) {
		const struct heads_middle *middle = __atomic_load_n(&top[i], __ATOMIC_ACQUIRE);

		if (middle)
			each_of_middle(middle, each, argument);
	}
}

void heads_release(struct heads *heads)
{
	for (unsigned int map = 0; map < LIVE_MAPS; map++) {
		struct heads_middle **top = heads->tops[map];

		for (size_t i = 0; top && i < top_count(map); i++)
			if (top[i])
				pool_release(top[i], sizeof(*top[i]));
		if (top)
			pool_release(top, top_count(map) * sizeof(*top));
		heads->tops[map] = NULL;
	}
}
