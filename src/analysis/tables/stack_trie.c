#include "analysis/tables/stack_trie.h"

#include <string.h>

/* How many children are looked at before the map is asked. */
#define NEAR 8

void stack_trie_deinit(struct stack_trie *trie)
{
	vec_deinit(&trie->nodes);
	vec_deinit(&trie->steps);
	vec_deinit(&trie->many);
	map_deinit(&trie->by_edge);
}

static uint64_t edge(uint32_t step, uint32_t frame)
{
	return (uint64_t)step << 32 | frame;
}

static bool has_many(const struct stack_trie *trie, uint32_t step)
{
	return trie->many.items[step / 8] >> step % 8 & 1;
}

/* Makes room for one more step, and for its bit. */
static bool reserve(struct stack_trie *trie)
{
	if (trie->steps.count >= RECORDING_NONE || !vec_reserve(&trie->steps, 1))
		return false;
	if (trie->steps.count / 8 >= trie->many.count && !vec_push(&trie->many, 0))
		return false;
	if (!trie->steps.count)
		trie->steps.items[trie->steps.count++] = (struct stack_step){0};
	return vec_reserve(&trie->steps, 1);
}

static bool put_edge(struct stack_trie *trie, uint32_t step, uint32_t child)
{
	uint64_t *place = map_put(&trie->by_edge, edge(step, trie->steps.items[child].frame));

	if (place)
		*place = child;
	return place;
}

/*
 * Moves a child to the front, because it is likely to be asked for again. before: the child before
 * it.
 */
static void move_to_front(struct stack_trie *trie, uint32_t step, uint32_t before, uint32_t child)
{
	struct stack_step *steps = trie->steps.items;

	steps[before].sibling = steps[child].sibling;
	steps[child].sibling = steps[step].child;
	steps[step].child = child;
}

/* Puts all children of a step into the map. */
static bool map_children(struct stack_trie *trie, uint32_t step)
{
	for (uint32_t child = trie->steps.items[step].child; child;
	     child = trie->steps.items[child].sibling)
		if (!put_edge(trie, step, child))
			return false;
	trie->many.items[step / 8] |= (uint8_t)(1 << step % 8);
	return true;
}

static struct err *add(struct stack_trie *trie, uint32_t step, uint32_t frame, uint32_t seen,
		       uint32_t *ret)
{
	struct stack_step new_step = {.frame = frame, .parent = step};
	uint32_t child;

	if (!reserve(trie))
		return err_no_memory();
	child = (uint32_t)trie->steps.count++;
	new_step.sibling = trie->steps.items[step].child;
	trie->steps.items[child] = new_step;
	trie->steps.items[step].child = child;
	if (has_many(trie, step) ? !put_edge(trie, step, child)
				 : seen + 1 >= NEAR && !map_children(trie, step))
		return err_no_memory();
	*ret = child - 1;
	return NULL;
}

struct err *stack_trie_insert_slow(struct stack_trie *trie, uint32_t parent, uint32_t frame,
				   uint32_t *ret)
{
	uint32_t step = parent + 1, before = 0, seen = 0, child;
	const struct stack_step *steps;

	if (!trie->steps.count && !reserve(trie))
		return err_no_memory();
	steps = trie->steps.items;
	for (child = steps[step].child; child && seen < NEAR; seen++) {
		if (steps[child].frame == frame) {
			if (before)
				move_to_front(trie, step, before, child);
			*ret = child - 1;
			return NULL;
		}
		before = child;
		child = steps[child].sibling;
	}
	if (has_many(trie, step)) {
		uint64_t found = map_get(&trie->by_edge, edge(step, frame));

		if (found != MAP_NONE) {
			*ret = (uint32_t)found - 1;
			return NULL;
		}
	}
	return add(trie, step, frame, seen, ret);
}

struct err *stack_trie_show(struct stack_trie *trie)
{
	size_t count = trie->steps.count ? trie->steps.count - 1 : 0;

	if (!vec_reserve(&trie->nodes, count - trie->nodes.count))
		return err_no_memory();
	for (size_t i = trie->nodes.count; i < count; i++) {
		const struct stack_step *step = &trie->steps.items[i + 1];
		struct stack_node node = {
			.frame = step->frame,
			.parent = step->parent - 1,
			.depth = step->parent ? trie->nodes.items[step->parent - 1].depth + 1 : 1,
		};

		trie->nodes.items[trie->nodes.count++] = node;
	}
	return NULL;
}

struct err *stack_trie_finish(struct stack_trie *trie)
{
	struct err *err = stack_trie_show(trie);

	if (err)
		return err;
	vec_deinit(&trie->steps);
	vec_deinit(&trie->many);
	map_deinit(&trie->by_edge);
	return NULL;
}
