#include "analysis/merge/merge_sites.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/index/index_read.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"

/* A recording that is being added. */
struct source {
	const struct recording *recording;
	struct symbolized *names;
	bool *needed;     /* for each node: a site's stack has it */
	uint32_t *nodes;  /* for each node, the merged one */
	uint32_t *frames; /* for each frame, the merged one; RECORDING_NONE: not known yet */
};

static void source_deinit(struct source *source)
{
	free(source->needed);
	free(source->nodes);
	free(source->frames);
}

void merge_sites_deinit(struct merge_sites *merge)
{
	intern_deinit(&merge->strings);
	map_deinit(&merge->files);
	map_deinit(&merge->places);
	vec_deinit(&merge->lines);
}

/* The interned key of a file. NULL: no memory. */
static const char *file_key(struct merge_sites *merge, const char *path,
			    const struct recorded_module *module)
{
	cleanup(buf_deinit) struct buf key = BUF_EMPTY;

	buf_put(&key, path, strlen(path) + 1);
	buf_put(&key, module->build_id, module->build_id_size);
	return buf_string(&key) ? intern_bytes(&merge->strings, key.data, key.size) : NULL;
}

/* *ret: the merged module of a file. Its frames have file addresses, so its bias is 0. */
static struct err *take_module(struct merge_sites *merge, const struct source *source,
			       const struct recorded_module *module, uint32_t *ret)
{
	const char *path = symbolized_path(source->names, module);
	const char *key = file_key(merge, path, module);
	uint64_t *known = key ? map_put(&merge->files, (uintptr_t)key) : NULL;
	struct recorded_module merged = {
		.path = key, // the key begins with the path and a NUL
		.build_id = key ? (const uint8_t *)key + strlen(path) + 1 : NULL,
		.build_id_size = module->build_id_size,
		.end = module->end - module->bias,
		.gone_ns = TIME_NEVER,
	};

	if (!known)
		return err_no_memory();
	if (*known == MAP_NONE) {
		*known = merge->into->modules.modules.count;
		if (!vec_push(&merge->into->modules.modules, merged))
			return err_no_memory();
	}
	*ret = (uint32_t)*known;
	return NULL;
}

/* Interns *text. NULL stays NULL. false: no memory. */
static bool keep(struct merge_sites *merge, const char **text)
{
	if (*text)
		*text = intern_text(&merge->strings, *text);
	return *text;
}

/* Copies the names of a frame into memory that lives as long as the merge. pc: the merged one. */
static struct err *copy_lines(struct merge_sites *merge, const struct named_frame *from,
			      size_t count, uint64_t pc, struct frame_lines *ret)
{
	struct named_frame *lines = arena_array(&merge->strings.arena, count, sizeof(*lines));

	if (!lines)
		return err_no_memory();
	for (size_t i = 0; i < count; i++) {
		lines[i] = from[i];
		lines[i].address = lines[i].address ? pc - 1 : 0;
		if (!keep(merge, &lines[i].function) ||
		    (from[i].raw_function && !keep(merge, &lines[i].raw_function)) ||
		    (from[i].file && !keep(merge, &lines[i].file)))
			return err_no_memory();
		if (!from[i].module)
			continue;
		if (!keep(merge, &lines[i].module))
			return err_no_memory();
		lines[i].module_name = lines[i].module + (from[i].module_name - from[i].module);
	}
	*ret = (struct frame_lines){lines, count};
	return NULL;
}

/* The key of a place in code: its file and the address in it, or the name of code in no file. */
struct place {
	uint64_t address;
	uint64_t module;
};

static struct err *add_frame(struct merge_sites *merge, struct recorded_frame frame,
			     const struct named_frame *lines, size_t count)
{
	struct frame_lines copy = {0};
	struct err *err = copy_lines(merge, lines, count, frame.pc, &copy);

	if (err)
		return err;
	if (merge->lines.count >= RECORDING_NONE - 1 || !vec_push(&merge->lines, copy) ||
	    !vec_push(&merge->into->frames.frames, frame))
		return err_no_memory();
	return NULL;
}

static struct err *take_frame(struct merge_sites *merge, const struct source *source,
			      uint32_t index, uint32_t *ret)
{
	const struct recorded_frame *from = &source->recording->frames.frames.items[index];
	const struct recorded_module *modules = source->recording->modules.modules.items;
	struct recorded_frame frame = *from;
	struct place place = {.module = RECORDING_NONE};
	const struct named_frame *lines;
	const char *key;
	uint64_t *known;
	struct err *err;
	size_t count;

	err = symbolized_frame(source->names, index, &lines, &count);
	if (!err && from->module != RECORDING_NONE) {
		err = take_module(merge, source, &modules[from->module], &frame.module);
		frame.pc -= modules[from->module].bias;
		place.module = frame.module;
		place.address = frame.pc;
	} else if (!err) {
		place.address = (uintptr_t)intern_text(&merge->strings, lines->function);
	}
	if (err)
		return err;
	key = intern_bytes(&merge->strings, (const char *)&place, sizeof(place));
	known = key ? map_put(&merge->places, (uintptr_t)key) : NULL;
	if (!known)
		return err_no_memory();
	if (*known == MAP_NONE) {
		err = add_frame(merge, frame, lines, count);
		if (err)
			return err;
		*known = merge->lines.count - 1;
	}
	*ret = (uint32_t)*known;
	return NULL;
}

static struct err *take_node(struct merge_sites *merge, struct source *source, uint32_t index)
{
	const struct stack_node *node = &source->recording->stacks.nodes.items[index];
	uint32_t parent =
		node->parent == RECORDING_NONE ? RECORDING_NONE : source->nodes[node->parent];
	uint32_t *frame = &source->frames[node->frame];

	if (*frame == RECORDING_NONE) {
		struct err *err = take_frame(merge, source, node->frame, frame);

		if (err)
			return err;
	}
	return stack_trie_insert(&merge->into->stacks, parent, *frame, &source->nodes[index]);
}

static void mark(struct source *source, uint32_t stack)
{
	if (stack != RECORDING_NONE)
		source->needed[stack] = true;
}

static void mark_sites(struct source *source, const struct site *sites, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mark(source, sites[i].stack);
}

static void mark_needed(struct source *source)
{
	const struct stack_node *nodes = source->recording->stacks.nodes.items;
	const struct recording *recording = source->recording;
	const struct recorded_pool *pools = recording->pools.pools.items;

	mark_sites(source, recording->sites.sites.items, recording->sites.sites.count);
	for (size_t i = 0; i < recording->pools.pools.count; i++) {
		mark_sites(source, pools[i].sites, pools[i].site_count);
		mark(source, pools[i].wrong_stack);
	}
	for (size_t i = source->recording->stacks.nodes.count; i-- > 0;)
		if (source->needed[i] && nodes[i].parent != RECORDING_NONE)
			source->needed[nodes[i].parent] = true;
}

/* The merged node of a stack. */
static uint32_t merged_node(const struct source *source, uint32_t stack)
{
	return stack == RECORDING_NONE ? RECORDING_NONE : source->nodes[stack];
}

static void add_sums(struct site *to, const struct site *from)
{
#define ADD(field) to->field += from->field;
	INDEX_SITE_COLUMNS(ADD)
#undef ADD
}

static struct err *add_site(struct merge_sites *merge, const struct source *source,
			    const struct site *from, bool peaks)
{
	struct site add = *from;
	struct err *err;
	uint32_t index;

	err = site_table_at(&merge->into->sites, merged_node(source, from->stack), &index);
	if (err)
		return err;
	if (!peaks)
		add.peak_bytes = add.peak_blocks = 0;
	add_sums(&merge->into->sites.sites.items[index], &add);
	return NULL;
}

/* Adds a pool. Pools with the same name are merged, and their peaks added. */
static struct err *add_pool(struct merge_sites *merge, const struct source *source,
			    const struct recorded_pool *from)
{
	struct pool_table *into = &merge->into->pools;
	struct recorded_pool *pool;
	uint32_t index, site = 0;
	struct err *err;

	err = pool_table_pool(into, from->name, from->address, &index);
	if (err)
		return err;
	pool = &into->pools.items[index];
	if (!pool->wrong_frees && from->wrong_frees) {
		pool->wrong_address = from->wrong_address;
		pool->wrong_stack = merged_node(source, from->wrong_stack);
	}
	pool->places += from->places;
	pool->frees += from->frees;
	pool->resets += from->resets;
	pool->implicit_frees += from->implicit_frees;
	pool->wrong_frees += from->wrong_frees;
	for (uint32_t i = 0; !err && i < from->site_count; i++) {
		err = pool_table_site(into, index, merged_node(source, from->sites[i].stack),
				      &site);
		if (!err)
			add_sums(&into->sites.items[index].sites.items[site], &from->sites[i]);
	}
	return err;
}

struct err *merge_sites_add(struct merge_sites *merge, const struct recording *from,
			    struct symbolized *names, bool peaks)
{
	size_t node_count = from->stacks.nodes.count, frame_count = from->frames.frames.count;
	cleanup(source_deinit) struct source source = {
		.recording = from,
		.names = names,
		.needed = calloc(node_count + 1, sizeof(*source.needed)),
		.nodes = calloc(node_count + 1, sizeof(*source.nodes)),
		.frames = malloc((frame_count + 1) * sizeof(*source.frames)),
	};
	struct err *err = NULL;

	if (!source.needed || !source.nodes || !source.frames)
		return err_no_memory();
	memset(source.frames, 0xff, (frame_count + 1) * sizeof(*source.frames));
	mark_needed(&source);
	for (uint32_t i = 0; !err && i < node_count; i++)
		if (source.needed[i])
			err = take_node(merge, &source, i);
	for (size_t i = 0; !err && i < from->sites.sites.count; i++)
		err = add_site(merge, &source, &from->sites.sites.items[i], peaks);
	for (size_t i = 0; !err && i < from->pools.pools.count; i++)
		err = add_pool(merge, &source, &from->pools.pools.items[i]);
	merge->into->pools.all.peak_bytes += from->pools.all.peak_bytes;
	merge->into->pools.all.peak_blocks += from->pools.all.peak_blocks;
	return err;
}

struct err *merge_sites_finish(struct merge_sites *merge)
{
	merge->into->summary = site_table_sum(&merge->into->sites);
	pool_table_show(&merge->into->pools);
	return stack_trie_finish(&merge->into->stacks);
}
