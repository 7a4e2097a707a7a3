#include "analysis/names/script_facts.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/names/script_files.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "hosted/intern.h"
#include "hosted/map.h"

/* What is known at a node of the stacks about the frames outside of it. */
struct seen {
	uint32_t caller;   /* the innermost frame of a script that is no machinery */
	uint32_t importer; /* the caller that called the machinery */
	uint32_t loads;    /* _find_and_load frames since then: a second one loads a parent */
	bool machinery;    /* the innermost frame of a script is machinery */
	bool listed;       /* `from package import module`: the machinery looks for the module */
};

enum kind { KIND_UNKNOWN, KIND_BODY, KIND_FIND, KIND_FROMLIST, KIND_MACHINERY, KIND_OTHER };

struct search {
	struct symbolized *symbolized;
	const struct recorded_frame *frames;
	const struct recorded_module *modules;
	struct arena *arena;
	const char **found; /* of each frame: the module's path without its suffix */
	bool *other;        /* of each frame: it does not import one module, and nothing else */
	uint8_t *kinds;     /* enum kind of each frame */
	uint32_t *parts;    /* of each frame: how many parts the module's name has, at least */
	struct intern texts;
	struct map packages; /* addresses of the interned folders that have an __init__.py */
	bool runs_string;
};

static void search_deinit(struct search *search)
{
	free(search->other);
	free(search->kinds);
	free(search->parts);
	intern_deinit(&search->texts);
	map_deinit(&search->packages);
}

bool script_facts_is_machinery(const char *module)
{
	return strncmp(module, "<frozen importlib._bootstrap", 28) == 0;
}

bool script_facts_is_string(const char *module)
{
	return strcmp(module, "<string>") == 0;
}

void script_facts_deinit(struct script_facts *stacks)
{
	free(stacks->imports);
	*stacks = (struct script_facts){0};
}

/* The length of a path without its last part; 0: it has no folder. */
static size_t folder_length(const char *path, size_t length)
{
	while (length && path[length - 1] != '/')
		length--;
	return length ? length - 1 : 0;
}

/* Notes that a frame imports the module whose body stands in that file. */
static struct err *note(struct search *search, uint32_t frame, const char *path, bool listed)
{
	static const char frozen[] = "<frozen ";
	size_t length = strlen(path), prefix = strlen(frozen);
	const char *text, **found = &search->found[frame];

	if (strncmp(path, frozen, prefix) == 0) {
		path += prefix;
		length = strcspn(path, ">");
	} else if (script_files_is_package(path)) {
		length = folder_length(path, length);
	} else {
		const char *suffix = strrchr(file_name(path), '.');

		length = suffix ? (size_t)(suffix - path) : length;
	}
	// The statement names the package. What it takes from it may be several modules.
	if (listed)
		length = folder_length(path, length);
	text = intern_bytes(&search->texts, path, length);
	if (!text)
		return err_no_memory();
	search->other[frame] |= !length || (*found && *found != text);
	*found = text;
	return NULL;
}

/* *ret: the enum kind of a script's frame. */
static struct err *kind_of(struct search *search, uint32_t frame, uint8_t *ret)
{
	const char *path = search->modules[search->frames[frame].module].path, *name;
	const struct symbol *symbols;
	struct err *err = NULL;
	size_t count;

	if (search->kinds[frame] == KIND_UNKNOWN) {
		err = symbolized_symbols(search->symbolized, frame, &symbols, &count);
		if (err)
			return err;
		name = symbols[0].raw_function ? symbols[0].raw_function : "";
		if (!script_facts_is_machinery(path))
			search->kinds[frame] = !strcmp(name, "<module>") ? KIND_BODY : KIND_OTHER;
		else if (!strcmp(name, "_find_and_load"))
			search->kinds[frame] = KIND_FIND;
		else
			search->kinds[frame] =
				!strcmp(name, "_handle_fromlist") ? KIND_FROMLIST : KIND_MACHINERY;
	}
	*ret = search->kinds[frame];
	return NULL;
}

/* Takes a frame of the machinery. */
static void take_machinery(struct search *search, uint8_t kind, struct seen *seen)
{
	if (!seen->machinery) {
		seen->importer = seen->caller;
		seen->loads = 0;
		seen->listed = kind == KIND_FROMLIST;
		seen->machinery = true;
	}
	seen->loads += kind == KIND_FIND;
	if (!seen->listed && seen->importer != RECORDING_NONE &&
	    search->parts[seen->importer] < seen->loads)
		search->parts[seen->importer] = seen->loads;
}

/* Takes another frame of a script. */
static struct err *take_function(struct search *search, uint32_t frame, bool body,
				 struct seen *seen)
{
	const char *path = search->modules[search->frames[frame].module].path;
	struct err *err = NULL;

	if (!seen->machinery && seen->caller != RECORDING_NONE)
		search->other[seen->caller] = true;
	if (!seen->machinery && seen->caller == RECORDING_NONE)
		search->runs_string |= body && script_facts_is_string(path);
	// A loader of another kind may stand between the machinery and the module that it loads.
	if (body && seen->loads == 1 && seen->importer != RECORDING_NONE)
		err = note(search, seen->importer, path, seen->listed);
	if (body)
		seen->loads = 0;
	seen->caller = frame;
	seen->machinery = false;
	return err;
}

/* Takes a frame of a script. *seen: of its caller's node, becomes that of its own. */
static struct err *take(struct search *search, uint32_t frame, struct seen *seen)
{
	uint8_t kind;
	struct err *err = kind_of(search, frame, &kind);

	if (!err && (kind == KIND_BODY || kind == KIND_OTHER))
		err = take_function(search, frame, kind == KIND_BODY, seen);
	else if (!err)
		take_machinery(search, kind, seen);
	return err;
}

static struct err *walk(struct search *search, const struct recording *recording)
{
	static const struct seen nothing = {.caller = RECORDING_NONE, .importer = RECORDING_NONE};
	uint32_t count;
	const struct stack_node *nodes = recording_stacks(recording, &count);
	auto_free struct seen *seen = malloc(((size_t)count + 1) * sizeof(*seen));
	struct err *err = NULL;

	if (!seen)
		return err_no_memory();
	for (uint32_t i = 0; !err && i < count; i++) {
		uint32_t parent = nodes[i].parent;

		seen[i] = parent == RECORDING_NONE ? nothing : seen[parent];
		if (recorded_frame_is_script(&search->frames[nodes[i].frame]))
			err = take(search, nodes[i].frame, &seen[i]);
	}
	return err;
}

static struct err *add_package(struct search *search, const char *path, size_t length)
{
	const char *folder = intern_bytes(&search->texts, path, length);
	uint64_t *place = folder ? map_put(&search->packages, (uintptr_t)folder) : NULL;

	if (!place)
		return err_no_memory();
	*place = 0;
	return NULL;
}

/*
 * Finds the folders that are packages: those with an __init__.py, and those that were loaded
 * because a module in them was imported.
 */
static struct err *find_packages(struct search *search, uint32_t module_count, uint32_t frame_count)
{
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < module_count; i++) {
		const char *path = search->modules[i].path;

		if (recorded_module_is_script(&search->modules[i]) && script_files_is_package(path))
			err = add_package(search, path, folder_length(path, strlen(path)));
	}
	for (uint32_t i = 0; !err && i < frame_count; i++) {
		const char *path = search->found[i];
		size_t length = path ? strlen(path) : 0;

		for (uint32_t part = 1; !err && length && part < search->parts[i]; part++) {
			length = folder_length(path, length);
			if (length)
				err = add_package(search, path, length);
		}
	}
	return err;
}

/* *ret: the name of the module with that path: "xml.dom.minidom". */
static struct err *name_of(struct search *search, const char *path, const char **ret)
{
	cleanup(buf_deinit) struct buf name = BUF_EMPTY;
	size_t begin = folder_length(path, strlen(path));

	while (begin) {
		const char *folder = intern_bytes(&search->texts, path, begin);

		if (!folder)
			return err_no_memory();
		if (map_get(&search->packages, (uintptr_t)folder) == MAP_NONE)
			break;
		begin = folder_length(path, begin);
	}
	for (path += begin + (path[begin] == '/'); *path; path++)
		buf_char(&name, *path == '/' ? '.' : *path);
	*ret = buf_string(&name) ? arena_text(search->arena, name.data) : NULL;
	return *ret ? NULL : err_no_memory();
}

struct err *script_facts_create(struct symbolized *symbolized, struct arena *arena,
				struct script_facts *ret)
{
	cleanup(search_deinit) struct search search = {.symbolized = symbolized, .arena = arena};
	const struct recording *recording = symbolized_recording(symbolized);
	uint32_t frame_count, module_count;
	auto_free const char **found = NULL;
	struct err *err;

	search.frames = recording_frames(recording, &frame_count);
	search.modules = recording_modules(recording, &module_count);
	search.found = found = calloc((size_t)frame_count + 1, sizeof(*found));
	search.other = calloc((size_t)frame_count + 1, sizeof(*search.other));
	search.kinds = calloc((size_t)frame_count + 1, sizeof(*search.kinds));
	search.parts = calloc((size_t)frame_count + 1, sizeof(*search.parts));
	if (!found || !search.other || !search.kinds || !search.parts)
		return err_no_memory();
	err = walk(&search, recording);
	if (!err)
		err = find_packages(&search, module_count, frame_count);
	for (uint32_t i = 0; !err && i < frame_count; i++) {
		if (search.other[i])
			found[i] = NULL;
		if (found[i])
			err = name_of(&search, found[i], &found[i]);
	}
	if (!err)
		*ret = (struct script_facts){steal(&found), search.runs_string};
	return err;
}
