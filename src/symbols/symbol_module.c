#include "symbols/symbol_module.h"

#include <assert.h>
#include <string.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "symbols/debug_info.h"
#include "symbols/debug_sections.h"
#include "symbols/program_file.h"
#include "symbols/symbol_log.h"
#include "symbols/symbol_table.h"

/* All that is known of one address: symbols, innermost first. */
struct found {
	size_t count;
	struct symbol symbols[];
};

struct symbol_module {
	struct symbol_names *names;
	const struct debug_files *files;
	const char *path;  /* as recorded */
	const char *note;  /* interned; NULL: nothing is wrong */
	const char *moved; /* the program's path, if it is read at another place; else NULL */

	/* The recorded file, or one of its build id, and its separate debug file. Either may be
	 * NULL. */
	struct elf_image *program;
	struct elf_image *debug;
	/* Files with further parts of them, or NULL: .gnu_debugdata, dwz's shared file, .dwp. */
	struct elf_image *mini;
	struct elf_image *alternate;
	struct elf_image *package;

	bool loaded;
	struct symbol_table table;
	struct debug_info *info;    /* NULL: no DWARF */
	struct debug_frames frames; /* scratch of symbol_module_find() */
	struct arena arena;
	struct map cache; /* file address to struct found */
};

/*
 * Turns err into the module's note, because a damaged or missing file is no failure of ours. Errors
 * that are: no memory, no descriptors; these are returned.
 */
static struct err *take_note(struct symbol_module *module, struct err *err)
{
	if (!err || err_is_shortage(err))
		return err;
	module->note = symbol_names_add(module->names, err_message(err));
	symbol_log_refusal(err);
	return module->note ? NULL : err_no_memory();
}

/*
 * Opens the program at its path, else the one with its build id, else its debug file. If none can
 * be opened, a note says why. Nothing tells a program without a build id from another one at its
 * path, so there the roots of the user's come first.
 */
static struct err *open_images(struct symbol_module *module, const char *path,
			       const uint8_t *build_id, size_t build_id_size, uint32_t machine)
{
	struct err *err = NULL;

	if (!build_id_size)
		err = debug_files_program(module->files, path, NULL, 0, machine, &module->program);
	if (!err && !module->program)
		err = take_note(module, program_file_open(path, build_id, build_id_size, machine,
							  &module->program));
	if (err || module->program)
		return err;
	err = build_id_size ? debug_files_program(module->files, path, build_id, build_id_size,
						  machine, &module->program)
			    : NULL;
	if (!err && !module->program)
		err = debug_files_by_build_id(module->files, build_id, build_id_size,
					      &module->debug);
	if (module->program || module->debug)
		module->note = NULL;
	return err;
}

CLEANUP_DEFINE(struct symbol_module *, symbol_module_destroy);

struct err *symbol_module_create(struct symbol_names *names, const struct debug_files *files,
				 const char *path, const char *place, const uint8_t *build_id,
				 size_t build_id_size, uint32_t machine, struct symbol_module **ret)
{
	cleanup(symbol_module_destroy_at) struct symbol_module *module = calloc(1, sizeof(*module));

	if (!module)
		return err_no_memory();
	module->names = names;
	module->files = files;
	module->path = path;
	module->moved = place ? path : NULL;

	struct err *err =
		open_images(module, place ? place : path, build_id, build_id_size, machine);

	if (err)
		return err;
	*ret = steal(&module);
	return NULL;
}

/* Frees what load_files() read: the module is as symbol_module_create() made it. */
static void unload_files(struct symbol_module *module)
{
	debug_info_destroy(module->info);
	module->info = NULL;
	symbol_table_deinit(&module->table);
	elf_image_close(steal(&module->package));
	elf_image_close(steal(&module->alternate));
	elf_image_close(steal(&module->mini));
	if (module->program)
		elf_image_close(steal(&module->debug));
}

void symbol_module_destroy(struct symbol_module *module)
{
	if (!module)
		return;
	unload_files(module);
	vec_deinit(&module->frames.list);
	map_deinit(&module->cache);
	arena_deinit(&module->arena);
	elf_image_close(module->debug);
	elf_image_close(module->program);
	free(module);
}

const char *symbol_module_note(const struct symbol_module *module)
{
	return module->note;
}

/*
 * Reads symbols. The full table (.symtab) of either file is enough. If there is none, the exported
 * names and those of .gnu_debugdata complete each other.
 */
static struct err *load_symbols(struct symbol_module *module)
{
	const struct elf_image *images[] = {module->debug, module->program, module->mini};
	struct symbol_table *table = &module->table;

	for (size_t i = 0; i < 2 && !table->list.count; i++) {
		struct err *err = images[i] ? symbol_table_add(table, images[i], SHT_SYMTAB) : NULL;

		if (err)
			return err;
	}
	if (table->list.count)
		return symbol_table_index(table);

	struct err *err = module->program ? mini_debug_open(module->program, &module->mini) : NULL;

	if (!err && module->program)
		err = symbol_table_add(table, module->program, SHT_DYNSYM);
	if (!err && module->mini)
		err = symbol_table_add(table, module->mini, SHT_SYMTAB);
	return err ? err : symbol_table_index(table);
}

/* An image's path, as notes have it: it says something when the place is gone, too. */
static const char *path_of(const struct symbol_module *module, const struct elf_image *image)
{
	return module->moved && image == module->program ? module->moved : image->path;
}

/* Opens the DWARF. If it is damaged, the names of the symbol table are still there. */
static struct err *load_dwarf(struct symbol_module *module)
{
	struct elf_image *image = module->debug && elf_image_has_dwarf(module->debug)
					  ? module->debug
					  : module->program;

	if (!image || !elf_image_has_dwarf(image))
		return NULL;

	struct err *err = debug_files_alternate(module->files, image, &module->alternate);

	// Split units find their addresses in this section.
	if (!err && elf_image_section(image, ".debug_addr"))
		err = debug_files_package(module->files, image,
					  image == module->program ? NULL : module->program,
					  &module->package);
	if (!err)
		err = debug_info_create(image, module->alternate, module->package, &module->info);
	if (!err && debug_info_damage(module->info))
		err = err_create("%s: %s", path_of(module, image), debug_info_damage(module->info));
	return take_note(module, err);
}

/* Closes the files' descriptors: all that look-ups need is in memory now. */
static void let_go(struct symbol_module *module)
{
	struct elf_image *images[] = {module->program, module->debug, module->alternate};

	for (size_t i = 0; i < ARRAY_COUNT(images); i++)
		if (images[i])
			elf_image_let_go(images[i]);
}

static struct err *load_files(struct symbol_module *module)
{
	struct err *err = NULL;

	if (module->program)
		symbol_log("%s has %s debug information", module->program->path,
			   elf_image_has_dwarf(module->program) ? "its" : "no");
	if (module->program && !elf_image_has_dwarf(module->program))
		err = debug_files_for(module->files, module->program, &module->debug);
	if (!err)
		err = load_symbols(module);
	if (!err)
		err = load_dwarf(module);
	if (!err && !module->note && !module->info && !module->table.list.count)
		err = take_note(module, err_create("the file has no symbols"));
	// The next attempt starts from nothing: it must not load parts twice.
	if (err)
		unload_files(module);
	else
		let_go(module);
	module->loaded = !err;
	return err;
}

/* Makes the result from the DWARF frames and the ELF symbol. Either may be missing. */
static struct err *combine_symbols(struct symbol_module *module, uint64_t file_address,
				   const struct table_symbol *elf, struct found *found)
{
	for (size_t i = 0; i < found->count; i++) {
		const struct debug_frame *frame =
			i < module->frames.list.count ? &module->frames.list.items[i] : NULL;
		struct symbol *symbol = &found->symbols[i];
		const char *raw = frame ? frame->name : NULL;

		// The outermost function gets its ELF name, which tells clones and variants of
		// constructors apart.
		if (i == found->count - 1 && elf)
			raw = elf->name;

		if (raw) {
			symbol->raw_function = symbol_names_add(module->names, raw);
			if (!symbol->raw_function)
				return err_no_memory();
		}
		if (elf)
			symbol->offset = file_address - elf->low;
		if (!frame)
			continue;
		symbol->line = frame->line;
		symbol->inlined = frame->inlined;
		if (frame->file) {
			symbol->file = symbol_names_source(module->names, module->frames.directory,
							   frame->file);
			if (!symbol->file)
				return err_no_memory();
		}
	}
	return NULL;
}

/* Says that the file of a split unit is missing, once a look-up has noticed. */
static struct err *note_missing(struct symbol_module *module)
{
	const char *name = debug_info_missing(module->info);
	const char *path;

	if (!name || module->note)
		return NULL;
	path = path_of(module, module->program ? module->program : module->debug);
	return take_note(module,
			 err_create("%s: inlined functions are missing: '%s' with them is not "
				    "there or of another build, and there is no %s.dwp",
				    path, name, path));
}

static struct err *find_symbols(struct symbol_module *module, uint64_t file_address,
				struct found **ret)
{
	struct err *err = module->loaded ? NULL : load_files(module);

	module->frames.list.count = 0;
	if (!err && module->info)
		err = debug_info_find(module->info, file_address, &module->frames);
	if (!err && module->info)
		err = note_missing(module);
	if (err)
		return err;

	size_t count = module->frames.list.count ? module->frames.list.count : 1;
	struct found *found =
		arena_alloc(&module->arena, sizeof(*found) + count * sizeof(found->symbols[0]));

	if (!found)
		return err_no_memory();
	found->count = count;
	err = combine_symbols(module, file_address, symbol_table_find(&module->table, file_address),
			      found);
	if (!err)
		*ret = found;
	return err;
}

struct err *symbol_module_find(struct symbol_module *module, uint64_t file_address,
			       const struct symbol **ret, size_t *count)
{
	uint64_t known = map_get(&module->cache, file_address);
	struct found *found = NULL;

	if (known == MAP_NONE) {
		symbol_log_module(module->path);

		struct err *err = find_symbols(module, file_address, &found);

		symbol_log_module(NULL);
		if (err)
			return err;

		uint64_t *value = map_put(&module->cache, file_address);

		if (!value)
			return err_no_memory();
		*value = (uintptr_t)found;
	} else {
		found = (struct found *)(uintptr_t)known;
	}
	assert(found);
	*ret = found->symbols;
	*count = found->count;
	return NULL;
}
