/*
 * Modules by path and build id. symbol_module.c looks up names in one module. The parts of this
 * room, from the bottom:
 *
 *	span_map        address ranges to one binary search
 *	elf_image       opening files safely, sections, build ids
 *	symbol_table    functions of the ELF symbol tables
 *	debug_sections  DWARF as libdw reads it, decompressed; .gnu_debugdata
 *	debug_unit      inlined functions and lines of one DWARF unit      debug_split  .dwo files
 *	debug_info      one file's DWARF: the unit of an address, by .debug_aranges or without
 *	program_file    a module's recorded file
 *	debug_files     separate debug files, the user's cache      debuginfod
 *	demangle        readable names              symbol_names      one copy of each
 *	perf_map        code made at run time, which is in no module
 *	symbol_log      why names are missing, for those who ask
 *
 * Measured with 10,000 function addresses each (libdw 0.188): dwfl_module_addrinfo 45 s in node, 33
 * s in libLLVM-14; our sorted table 0.05 s. dwarf_getscopes 12 s in libpython, more than 250 s in
 * ceph-mds; one walk per touched unit 0.4 s and 5 s.
 */
#include "symbols/symbolizer.h"

#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "symbols/program_file.h"
#include "symbols/symbol_log.h"
#include "symbols/symbol_module.h"

/* A file that is read at another place. Strings are interned. */
struct file_place {
	const char *path, *place;
};

struct symbolizer {
	struct symbol_names names;
	VEC(struct file_place) places;
	struct debug_files files;
	uint32_t machine;
	VEC(struct symbol_module *) modules;
	/* From the address of the interned key to the module's index. */
	struct map by_key;
};

struct err *symbolizer_create(struct symbolizer **ret)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return err_no_memory();
	*ret = symbolizer;
	return NULL;
}

void symbolizer_close_modules(struct symbolizer *symbolizer)
{
	for (size_t i = 0; i < symbolizer->modules.count; i++)
		symbol_module_destroy(symbolizer->modules.items[i]);
	vec_deinit(&symbolizer->modules);
	map_deinit(&symbolizer->by_key);
}

void symbolizer_destroy(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	symbolizer_close_modules(symbolizer);
	debug_files_deinit(&symbolizer->files);
	vec_deinit(&symbolizer->places);
	symbol_names_deinit(&symbolizer->names);
	free(symbolizer);
}

struct err *symbolizer_add_debug_path(struct symbolizer *symbolizer, const char *path)
{
	return debug_files_add(&symbolizer->files, path);
}

struct err *symbolizer_add_debug_paths(struct symbolizer *symbolizer, const char *const *paths)
{
	struct err *err = NULL;

	for (; !err && *paths; paths++)
		err = symbolizer_add_debug_path(symbolizer, *paths);
	return err;
}

struct err *symbolizer_add_place(struct symbolizer *symbolizer, const char *path, const char *place)
{
	const struct file_place added = {symbol_names_add(&symbolizer->names, path),
					 symbol_names_add(&symbolizer->names, place)};

	return added.path && added.place && vec_push(&symbolizer->places, added) ? NULL
										 : err_no_memory();
}

static bool has_build(const char *place, const uint8_t *build_id, size_t build_id_size)
{
	cleanup(elf_image_close_at) struct elf_image *image = NULL;

	symbol_log_refusal(program_file_open(place, build_id, build_id_size, 0, &image));
	return image;
}

/* Whether that is the path, or the one that the kernel writes once the file has no name. */
static bool is_place_of(const char *path, const char *place)
{
	size_t length = strlen(place);

	return strncmp(path, place, length) == 0 &&
	       (!path[length] || strcmp(path + length, " (deleted)") == 0);
}

/*
 * Where the file of that path is to be read; NULL: there. Several places may have one: a program
 * was built anew and run again, or runs in a container, too. The build id tells which one it is.
 */
static const char *place_of(const struct symbolizer *symbolizer, const char *path,
			    const uint8_t *build_id, size_t build_id_size)
{
	for (size_t i = 0; i < symbolizer->places.count; i++) {
		const struct file_place *place = &symbolizer->places.items[i];

		if (is_place_of(path, place->path) &&
		    has_build(place->place, build_id, build_id_size))
			return place->place;
	}
	return NULL;
}

void symbolizer_set_machine(struct symbolizer *symbolizer, uint32_t machine)
{
	symbolizer->machine = machine;
}

/*
 * The key of a module, interned: the path, a NUL, the build id or, if there is none, the machine.
 * NULL: no memory.
 */
static const char *key_of(struct symbolizer *symbolizer, const char *path, const uint8_t *build_id,
			  size_t build_id_size)
{
	size_t length = strlen(path) + 1;
	auto_free char *key = NULL;

	if (!build_id_size) {
		build_id = (const uint8_t *)&symbolizer->machine;
		build_id_size = sizeof(symbolizer->machine);
	}
	key = malloc(length + build_id_size);
	if (!key)
		return NULL;
	memcpy(key, path, length);
	memcpy(key + length, build_id, build_id_size);
	return intern_bytes(&symbolizer->names.strings, key, length + build_id_size);
}

struct err *symbolizer_module(struct symbolizer *symbolizer, const char *path,
			      const uint8_t *build_id, size_t build_id_size,
			      struct symbol_module **ret)
{
	const char *key = key_of(symbolizer, path, build_id, build_id_size);

	if (!key || !vec_reserve(&symbolizer->modules, 1))
		return err_no_memory();

	uint64_t *index = map_put(&symbolizer->by_key, (uintptr_t)key);

	if (!index)
		return err_no_memory();
	if (*index == MAP_NONE) {
		struct symbol_module *module;

		symbol_log_module(key);

		struct err *err =
			symbol_module_create(&symbolizer->names, &symbolizer->files, key,
					     place_of(symbolizer, path, build_id, build_id_size),
					     build_id, build_id_size, symbolizer->machine, &module);

		symbol_log_module(NULL);
		if (err) {
			map_remove(&symbolizer->by_key, (uintptr_t)key);
			return err;
		}
		*index = symbolizer->modules.count;
		symbolizer->modules.items[symbolizer->modules.count++] = module;
	}
	*ret = symbolizer->modules.items[*index];
	return NULL;
}

struct err *symbolizer_plain(struct symbolizer *symbolizer, const char *raw, const char **ret)
{
	const char *plain = symbol_names_plain(&symbolizer->names, raw);

	if (!plain)
		return err_no_memory();
	*ret = plain;
	return NULL;
}

struct err *symbolizer_readable(struct symbolizer *symbolizer, const char *raw, const char **ret)
{
	// The caller's string may not be interned here: it may be a name from a recording.
	const char *known = symbol_names_add(&symbolizer->names, raw);
	const char *readable = known ? symbol_names_demangled(&symbolizer->names, known) : NULL;

	if (!readable)
		return err_no_memory();
	*ret = readable;
	return NULL;
}
