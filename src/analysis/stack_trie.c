#include "analysis/stack_trie.h"

#include "hosted/cleanup.h"

void stack_trie_deinit(struct stack_trie *trie)
{
	vec_deinit(&trie->nodes);
	map_deinit(&trie->by_edge);
}

struct err *stack_trie_insert(struct stack_trie *trie, uint32_t parent, uint32_t frame,
			      uint32_t *ret)
{
	uint64_t *node = map_put(&trie->by_edge, (uint64_t)parent << 32 | frame);
	struct stack_node new_node = {.frame = frame, .parent = parent, .depth = 1};

	if (!node)
		return err_no_memory();
	if (*node != MAP_NONE) {
		*ret = (uint32_t)*node;
		return NULL;
	}
	if (parent != RECORDING_NONE)
		new_node.depth = trie->nodes.items[parent].depth + 1;
	if (trie->nodes.count >= RECORDING_NONE || !vec_push(&trie->nodes, new_node))
		return err_no_memory();
	*node = trie->nodes.count - 1;
	*ret = (uint32_t)*node;
	return NULL;
}

static void rename_in_place(struct stack_trie *trie, const uint32_t *frames, uint32_t *nodes)
{
	for (size_t i = 0; i < trie->nodes.count; i++) {
		trie->nodes.items[i].frame = frames[trie->nodes.items[i].frame];
		nodes[i] = (uint32_t)i;
	}
	map_deinit(&trie->by_edge);
}

struct err *stack_trie_rename(struct stack_trie *trie, const uint32_t *frames, bool unique,
			      uint32_t *nodes)
{
	struct stack_trie renamed = {.nodes = VEC_EMPTY};
	struct err *err = NULL;

	if (unique) {
		rename_in_place(trie, frames, nodes);
		return NULL;
	}
	for (size_t i = 0; !err && i < trie->nodes.count; i++) {
		const struct stack_node *node = &trie->nodes.items[i];
		uint32_t parent = node->parent;

		if (parent != RECORDING_NONE)
			parent = nodes[parent];
		err = stack_trie_insert(&renamed, parent, frames[node->frame], &nodes[i]);
	}
	if (err) {
		stack_trie_deinit(&renamed);
		return err;
	}
	map_deinit(&renamed.by_edge);
	stack_trie_deinit(trie);
	*trie = renamed;
	return NULL;
}
