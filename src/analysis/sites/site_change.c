#include "analysis/sites/site_change.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/map.h"

/*
 * Translates indices of the earlier state into those of the later one. RECORDING_NONE: the later
 * one has no such thing.
 */
struct translation {
	const struct recording *now, *since;
	uint32_t *modules, *frames, *nodes;
	struct map pcs;     /* from a pc of the later frames to a number for it */
	struct map by_pc;   /* from that number and a module to the frame */
	struct map by_node; /* from a node + 1 and a frame to the node of that call */
};

static void translation_deinit(struct translation *translation)
{
	free(translation->modules);
	free(translation->frames);
	free(translation->nodes);
	map_deinit(&translation->pcs);
	map_deinit(&translation->by_pc);
	map_deinit(&translation->by_node);
}

static bool same_module(const struct recorded_module *a, const struct recorded_module *b)
{
	return a->start == b->start && a->end == b->end && a->bias == b->bias &&
	       a->generation == b->generation && strcmp(a->path, b->path) == 0;
}

/* Finds a module. near: where to look first, because modules are usually in the same order. */
static uint32_t find_module(const struct recorded_module *module,
			    const struct recorded_module *modules, uint32_t count, uint32_t near)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = (uint32_t)(((uint64_t)near + i) % count);

		if (same_module(module, &modules[at]))
			return at;
	}
	return RECORDING_NONE;
}

static struct err *translate_modules(struct translation *translation)
{
	uint32_t count, now_count;
	const struct recorded_module *modules = recording_modules(translation->since, &count);
	const struct recorded_module *now = recording_modules(translation->now, &now_count);

	translation->modules = malloc(((size_t)count + 1) * sizeof(*translation->modules));
	if (!translation->modules)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		translation->modules[i] = find_module(&modules[i], now, now_count, i);
	return NULL;
}

static uint64_t pair(uint64_t high, uint32_t low)
{
	return high << 32 | low;
}

static uint32_t number_or_none(uint64_t value)
{
	return value == MAP_NONE ? RECORDING_NONE : (uint32_t)value;
}

static struct err *note_frames(struct translation *translation)
{
	uint32_t count;
	const struct recorded_frame *frames = recording_frames(translation->now, &count);

	for (uint32_t i = 0; i < count; i++) {
		uint64_t *pc = map_put(&translation->pcs, frames[i].pc), *frame;

		if (!pc)
			return err_no_memory();
		if (*pc == MAP_NONE)
			*pc = translation->pcs.count;
		frame = map_put(&translation->by_pc, pair(*pc, frames[i].module));
		if (!frame)
			return err_no_memory();
		*frame = i;
	}
	return NULL;
}

static uint32_t find_frame(const struct translation *translation,
			   const struct recorded_frame *frame)
{
	uint64_t pc = map_get(&translation->pcs, frame->pc);
	uint32_t module = frame->module;

	if (module != RECORDING_NONE)
		module = translation->modules[module];
	if (pc == MAP_NONE || (module == RECORDING_NONE && frame->module != RECORDING_NONE))
		return RECORDING_NONE;
	return number_or_none(map_get(&translation->by_pc, pair(pc, module)));
}

static struct err *translate_frames(struct translation *translation)
{
	uint32_t count;
	const struct recorded_frame *frames = recording_frames(translation->since, &count);
	struct err *err = note_frames(translation);

	translation->frames = malloc(((size_t)count + 1) * sizeof(*translation->frames));
	if (err || !translation->frames)
		return err ? err : err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		translation->frames[i] = find_frame(translation, &frames[i]);
	return NULL;
}

/* The key of a node in by_node. parent RECORDING_NONE becomes 0. */
static uint64_t node_key(uint32_t parent, uint32_t frame)
{
	return pair((uint32_t)(parent + 1), frame);
}

static struct err *note_nodes(struct translation *translation)
{
	uint32_t count;
	const struct stack_node *nodes = recording_stacks(translation->now, &count);

	for (uint32_t i = 0; i < count; i++) {
		uint64_t *node =
			map_put(&translation->by_node, node_key(nodes[i].parent, nodes[i].frame));

		if (!node)
			return err_no_memory();
		*node = i;
	}
	return NULL;
}

static uint32_t find_node(const struct translation *translation, const struct stack_node *node)
{
	uint32_t frame = translation->frames[node->frame], parent = node->parent;

	if (parent != RECORDING_NONE)
		parent = translation->nodes[parent];
	if (frame == RECORDING_NONE || (parent == RECORDING_NONE && node->parent != RECORDING_NONE))
		return RECORDING_NONE;
	return number_or_none(map_get(&translation->by_node, node_key(parent, frame)));
}

static struct err *translate_nodes(struct translation *translation)
{
	uint32_t count;
	const struct stack_node *nodes = recording_stacks(translation->since, &count);
	struct err *err = note_nodes(translation);

	translation->nodes = malloc(((size_t)count + 1) * sizeof(*translation->nodes));
	if (err || !translation->nodes)
		return err ? err : err_no_memory();
	for (uint32_t i = 0; i < count; i++) // parents come first
		translation->nodes[i] = find_node(translation, &nodes[i]);
	return NULL;
}

static void take_off(struct site *site, const struct site *since)
{
	site->calls -= since->calls;
	site->total_bytes -= since->total_bytes;
	site->peak_bytes -= since->peak_bytes;
	site->peak_blocks -= since->peak_blocks;
	site->own_peak_bytes -= since->own_peak_bytes;
	site->leaked_bytes -= since->leaked_bytes;
	site->leaked_blocks -= since->leaked_blocks;
	site->temporary -= since->temporary;
}

static struct err *take_off_all(const struct translation *translation, struct site *sites,
				uint32_t count)
{
	cleanup(map_deinit) struct map by_stack = {0};
	uint32_t since_count;
	const struct site *since = recording_sites(translation->since, &since_count);

	for (uint32_t i = 0; i < count; i++) {
		uint64_t *site = map_put(&by_stack, sites[i].stack);

		if (!site)
			return err_no_memory();
		*site = i;
	}
	for (uint32_t i = 0; i < since_count; i++) {
		uint32_t stack = since[i].stack;
		uint64_t site;

		if (stack != RECORDING_NONE)
			stack = translation->nodes[stack];
		if (stack == RECORDING_NONE && since[i].stack != RECORDING_NONE)
			continue;
		site = map_get(&by_stack, stack);
		if (site != MAP_NONE)
			take_off(&sites[site], &since[i]);
	}
	return NULL;
}

struct err *site_change_find(const struct recording *now, const struct recording *since,
			     struct site **ret)
{
	cleanup(translation_deinit) struct translation translation = {.now = now, .since = since};
	uint32_t count;
	const struct site *sites = recording_sites(now, &count);
	auto_free struct site *changes = calloc((size_t)count + 1, sizeof(*changes));
	struct err *err;

	if (!changes)
		return err_no_memory();
	if (count)
		memcpy(changes, sites, count * sizeof(*changes));
	err = translate_modules(&translation);
	if (!err)
		err = translate_frames(&translation);
	if (!err)
		err = translate_nodes(&translation);
	if (!err)
		err = take_off_all(&translation, changes, count);
	if (!err)
		*ret = steal(&changes);
	return err;
}
