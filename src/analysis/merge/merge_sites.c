#include "analysis/merge/merge_sites.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/index/index_read.h"
#include "analysis/names/script_files.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"

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
	map_deinit(&merge->parts);
	map_deinit(&merge->builds);
	vec_deinit(&merge->lines);
}

/*
 * What tells one build of a module from all others; without a build id the recording itself and the
 * path. NULL: no memory.
 */
static const char *build_of(struct merge_sites *merge, const struct recording *recording,
			    const struct recorded_module *module)
{
	cleanup(buf_deinit) struct buf key = BUF_EMPTY;

	if (module->build_id_size)
		return intern_bytes(&merge->strings, (const char *)module->build_id,
				    module->build_id_size);
	buf_put(&key, recording->facts.id, sizeof(recording->facts.id));
	buf_text(&key, module->path);
	return buf_string(&key) ? intern_bytes(&merge->strings, key.data, key.size) : NULL;
}

/*
 * Notes how many parts of a script's path tell it from others in one of the recordings: with as
 * many it is compared in all.
 */
static struct err *note_scripts(struct merge_sites *merge, const struct recording *recording)
{
	const struct recorded_module *modules = recording->tables->modules.modules.items;
	auto_free uint8_t *parts = NULL;
	struct err *err = script_files_parts(recording, &parts);

	for (size_t i = 0; !err && i < recording->tables->modules.modules.count; i++) {
		const char *name = intern_text(&merge->strings, file_name(modules[i].path));
		uint64_t *most = name ? map_put(&merge->parts, (uintptr_t)name) : NULL;

		if (!most)
			return err_no_memory();
		if (*most == MAP_NONE || *most < parts[i])
			*most = parts[i];
	}
	return err;
}

/* The name by which a module is the same in all recordings. NULL: no memory. */
static const char *common_name(struct merge_sites *merge, const char *path, bool script)
{
	const char *name = intern_text(&merge->strings, file_name(path));

	if (!name || !script)
		return name;
	return intern_text(
		&merge->strings,
		script_files_name(path, (unsigned)map_get(&merge->parts, (uintptr_t)name)));
}

struct err *merge_sites_by_name(struct merge_sites *merge, const struct recording *const *all,
				size_t count)
{
	if (count > MERGE_SITES_BY_NAME)
		return err_create("%zu recordings are too many to be matched by name: at most %d",
				  count, MERGE_SITES_BY_NAME);
	merge->by_name = true;
	merge->all = (UINT64_C(1) << count) - 1;
	for (size_t i = 0; i < count; i++) {
		const struct recorded_module *modules = all[i]->tables->modules.modules.items;
		struct err *err = note_scripts(merge, all[i]);

		if (err)
			return err;
		for (size_t j = 0; j < all[i]->tables->modules.modules.count; j++) {
			const char *build = build_of(merge, all[i], &modules[j]);
			uint64_t *bits = build ? map_put(&merge->builds, (uintptr_t)build) : NULL;

			if (!bits)
				return err_no_memory();
			*bits = (*bits == MAP_NONE ? 0 : *bits) | UINT64_C(1) << i;
		}
	}
	return NULL;
}

/* Whether all recordings have that build of a module, so that addresses in it are the same. */
static bool is_everywhere(struct merge_sites *merge, const struct recording *recording,
			  const struct recorded_module *module)
{
	const char *build = build_of(merge, recording, module);

	return build && map_get(&merge->builds, (uintptr_t)build) == merge->all;
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

/*
 * *ret: the merged module of a file. Its frames have file addresses, so its bias is 0. By name it
 * is that of the first recording that has one of that name; two builds of the program may have two
 * names.
 */
static struct err *take_module(struct merge_sites *merge, const struct source *source,
			       const struct recorded_module *module, bool program, uint32_t *ret)
{
	const char *path = symbolized_path(source->names, module);
	const char *file = file_key(merge, path, module);
	const char *key = !merge->by_name ? file
			  : program       ? intern_text(&merge->strings, "")
				    : common_name(merge, path, recorded_module_is_script(module));
	uint64_t *known = file && key ? map_put(&merge->files, (uintptr_t)key) : NULL;
	struct recorded_module merged = {
		.path = file, // the key begins with the path and a NUL
		.build_id = file ? (const uint8_t *)file + strlen(path) + 1 : NULL,
		.build_id_size = module->build_id_size,
		.end = module->end - module->bias,
		.gone_ns = TIME_NEVER,
	};

	if (!known)
		return err_no_memory();
	if (*known == MAP_NONE) {
		*known = merge->into->tables->modules.modules.count;
		if (!vec_push(&merge->into->tables->modules.modules, merged))
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

/* Copies the names of a frame into memory that lives as long as the merge. frame: the merged one.
 */
static struct err *copy_lines(struct merge_sites *merge, const struct named_frame *from,
			      size_t count, const struct recorded_frame *frame,
			      struct frame_lines *ret)
{
	struct named_frame *lines = arena_array(&merge->strings.arena, count, sizeof(*lines));

	if (!lines)
		return err_no_memory();
	for (size_t i = 0; i < count; i++) {
		lines[i] = from[i];
		lines[i].address = lines[i].address ? frame->pc - 1 : 0;
		if (!keep(merge, &lines[i].function) ||
		    (from[i].raw_function && !keep(merge, &lines[i].raw_function)) ||
		    (from[i].file && !keep(merge, &lines[i].file)))
			return err_no_memory();
		if (!from[i].module)
			continue;
		lines[i].module = merge->into->tables->modules.modules.items[frame->module].path;
		lines[i].module_name = file_name(lines[i].module);
	}
	*ret = (struct frame_lines){lines, count};
	return NULL;
}

/* Writes what is the same of a frame in all builds. false: no memory. */
static bool put_names(struct merge_sites *merge, struct buf *key, const struct named_frame *lines,
		      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *module = "";
		const char *file = lines[i].file ? file_name(lines[i].file) : "";

		if (lines[i].module && !lines[i].in_program)
			module = common_name(merge, lines[i].module, lines[i].script);
		if (!module)
			return false;
		buf_put(key, lines[i].function, strlen(lines[i].function) + 1);
		buf_put(key, module, strlen(module) + 1);
		buf_put(key, file, strlen(file) + 1);
	}
	return true;
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
	struct err *err = copy_lines(merge, lines, count, &frame, &copy);

	if (err)
		return err;
	if (merge->lines.count >= RECORDING_NONE - 1 || !vec_push(&merge->lines, copy) ||
	    !vec_push(&merge->into->tables->frames.frames, frame))
		return err_no_memory();
	return NULL;
}

/* The interned key of a place; address and module are merged ones. NULL: no memory. */
static const char *place_key(struct merge_sites *merge, const struct source *source,
			     const struct recorded_frame *from, struct place place,
			     const struct named_frame *lines, size_t count)
{
	const struct recorded_module *modules = source->recording->tables->modules.modules.items;
	cleanup(buf_deinit) struct buf key = BUF_EMPTY;

	if (!merge->by_name)
		buf_put(&key, &place, sizeof(place));
	else if (!put_names(merge, &key, lines, count))
		return NULL;
	if (merge->by_name && from->module != RECORDING_NONE &&
	    is_everywhere(merge, source->recording, &modules[from->module]))
		buf_put(&key, &place.address, sizeof(place.address));
	return buf_string(&key) ? intern_bytes(&merge->strings, key.data, key.size) : NULL;
}

static struct err *take_frame(struct merge_sites *merge, const struct source *source,
			      uint32_t index, uint32_t *ret)
{
	const struct recorded_frame *from = &source->recording->tables->frames.frames.items[index];
	const struct recorded_module *modules = source->recording->tables->modules.modules.items;
	struct recorded_frame frame = *from;
	struct place place = {.module = RECORDING_NONE};
	const struct named_frame *lines;
	const char *key;
	uint64_t *known;
	struct err *err;
	size_t count;

	err = symbolized_frame(source->names, index, &lines, &count);
	if (!err && from->module != RECORDING_NONE) {
		err = take_module(merge, source, &modules[from->module], lines->in_program,
				  &frame.module);
		frame.pc -= modules[from->module].bias;
		place.module = frame.module;
		place.address = frame.pc;
	} else if (!err) {
		place.address = (uintptr_t)intern_text(&merge->strings, lines->function);
	}
	if (err)
		return err;
	key = place_key(merge, source, from, place, lines, count);
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
	const struct stack_node *node = &source->recording->tables->stacks.items[index];
	uint32_t parent =
		node->parent == RECORDING_NONE ? RECORDING_NONE : source->nodes[node->parent];
	uint32_t *frame = &source->frames[node->frame];

	if (*frame == RECORDING_NONE) {
		struct err *err = take_frame(merge, source, node->frame, frame);

		if (err)
			return err;
	}
	return stack_trie_insert(&merge->into->tables->trie, parent, *frame, &source->nodes[index]);
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
	const struct stack_node *nodes = source->recording->tables->stacks.items;
	const struct recording *recording = source->recording;
	const struct recorded_pool *pools = recording->pools->pools.items;

	mark_sites(source, recording->sites.sites.items, recording->sites.sites.count);
	for (size_t i = 0; i < recording->pools->pools.count; i++) {
		mark_sites(source, pools[i].sites, pools[i].site_count);
		mark(source, pools[i].wrong_stack);
	}
	for (size_t i = source->recording->tables->stacks.count; i-- > 0;)
		if (source->needed[i] && nodes[i].parent != RECORDING_NONE)
			source->needed[nodes[i].parent] = true;
}

/* The merged node of a stack. */
static uint32_t merged_node(const struct source *source, uint32_t stack)
{
	return stack == RECORDING_NONE ? RECORDING_NONE : source->nodes[stack];
}

void merge_sites_sum(struct site *to, const struct site *from)
{
#define ADD(field) to->field += from->field;
	INDEX_SITE_COLUMNS(ADD)
#undef ADD
}

static struct err *add_site(struct merge_sites *merge, const struct source *source,
			    const struct site *from, bool peaks, uint32_t *place)
{
	struct site add = *from;
	struct err *err;

	err = site_table_at(&merge->into->sites, merged_node(source, from->stack), place);
	if (err)
		return err;
	if (!peaks)
		add.peak_bytes = add.peak_blocks = 0;
	merge_sites_sum(&merge->into->sites.sites.items[*place], &add);
	return NULL;
}

/* Adds a pool. Pools with the same name are merged, and their peaks added. */
static struct err *add_pool(struct merge_sites *merge, const struct source *source,
			    const struct recorded_pool *from)
{
	struct pool_table *into = merge->into->pools;
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
			merge_sites_sum(&into->sites.items[index].sites.items[site],
					&from->sites[i]);
	}
	return err;
}

struct err *merge_sites_add(struct merge_sites *merge, const struct recording *from,
			    struct symbolized *names, bool peaks, uint32_t *places)
{
	size_t node_count = from->tables->stacks.count,
	       frame_count = from->tables->frames.frames.count;
	cleanup(source_deinit) struct source source = {
		.recording = from,
		.names = names,
		.needed = calloc(node_count + 1, sizeof(*source.needed)),
		.nodes = calloc(node_count + 1, sizeof(*source.nodes)),
		.frames = malloc((frame_count + 1) * sizeof(*source.frames)),
	};
	struct err *err = NULL;
	uint32_t unused;

	if (!source.needed || !source.nodes || !source.frames)
		return err_no_memory();
	memset(source.frames, 0xff, (frame_count + 1) * sizeof(*source.frames));
	mark_needed(&source);
	for (uint32_t i = 0; !err && i < node_count; i++)
		if (source.needed[i])
			err = take_node(merge, &source, i);
	for (size_t i = 0; !err && i < from->sites.sites.count; i++)
		err = add_site(merge, &source, &from->sites.sites.items[i], peaks,
			       places ? &places[i] : &unused);
	for (size_t i = 0; !err && i < from->pools->pools.count; i++)
		err = add_pool(merge, &source, &from->pools->pools.items[i]);
	merge->into->pools->all.peak_bytes += from->pools->all.peak_bytes;
	merge->into->pools->all.peak_blocks += from->pools->all.peak_blocks;
	return err;
}

/* Names the files of scripts so that all of the merged ones are told apart. */
static struct err *name_scripts(struct merge_sites *merge)
{
	const struct recorded_frame *frames = merge->into->tables->frames.frames.items;
	const struct recorded_module *modules = merge->into->tables->modules.modules.items;
	auto_free uint8_t *parts = NULL;
	struct err *err = script_files_parts(merge->into, &parts);

	for (size_t i = 0; !err && i < merge->lines.count; i++) {
		uint32_t module = frames[i].module;

		if (module == RECORDING_NONE || !parts[module])
			continue;
		// They lie in our arena; only what others see of them is constant.
		for (size_t j = 0; j < merge->lines.items[i].count; j++)
			((struct named_frame *)&merge->lines.items[i].lines[j])->module_name =
				script_files_name(modules[module].path, parts[module]);
	}
	return err;
}

struct err *merge_sites_finish(struct merge_sites *merge)
{
	struct err *err;

	merge->into->summary = site_table_sum(&merge->into->sites);
	pool_table_show(merge->into->pools);
	err = stack_trie_finish(&merge->into->tables->trie);
	recording_show_stacks(merge->into->tables);
	return err ? err : name_scripts(merge);
}
