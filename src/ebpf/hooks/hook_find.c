#include "ebpf/hooks/hook_find.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "ebpf/hooks/hook_exits.h"
#include "allocators/function_names.h"
#include "ebpf/hooks/image_code.h"
#include "ebpf/hooks/image_functions.h"
#include "ebpf/arch/probe_place.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "symbols/debug_files.h"
#include "symbols/debug_sections.h"
#include "symbols/own_allocator.h"

#define EXIT_COOKIE                                                                                \
	(HOOK_COOKIE(HOOK_ALLOC, 0, 0, 0, HOOK_RESULT_VALUE) | HOOK_WHERE(HOOK_WHERE_EXIT))

uint32_t hook_cookie_of(const struct allocator_function *function)
{
	uint32_t result = function->stores ? HOOK_RESULT_MEMORY : HOOK_RESULT_VALUE;
	uint32_t where = function->returns ? HOOK_WHERE_ENTRY : HOOK_WHERE_ONLY;

	return HOOK_COOKIE(function->act, function->size, function->times, function->pointer,
			   result) |
	       HOOK_WHERE(where) | HOOK_OPERATION(function->operation, function->alignment);
}

/* A module whose functions are being looked for. */
struct search {
	const struct target *target;
	const struct function_names *names;
	struct hooks *hooks;
	uint32_t module;
	size_t first_hook;
	struct elf_image *image;
	struct image_code code;
	struct image_functions functions;
	bool stripped; /* no symbol table but that of exported functions was found */
};

static void search_deinit(struct search *search)
{
	image_functions_deinit(&search->functions);
	image_code_deinit(&search->code);
	elf_image_close(search->image);
}

static bool is_program(const struct search *search)
{
	return strcmp(search->target->modules.items[search->module].path,
		      search->target->program) == 0;
}

/* Adds the local functions from an image's own table, or from where they were moved to. */
static struct err *add_local_functions(struct search *search)
{
	cleanup(elf_image_close_at) struct elf_image *other = NULL;
	cleanup(debug_files_deinit) struct debug_files files = {0};
	const struct elf_image *from = search->image;
	struct err *err = NULL;

	if (!elf_image_has_symbols(from, SHT_SYMTAB)) {
		err = mini_debug_open(from, &other);
		// Of libraries only the exported functions matter, unless they carry a table.
		if (!err && !other && is_program(search))
			err = debug_files_for(&files, from, &other);
		from = other;
	}
	search->stripped = !from;
	if (err || !from)
		return err;
	return image_functions_add(&search->functions, from, SHT_SYMTAB, search->names);
}

static struct err *add_hook(struct search *search, uint64_t address, uint32_t cookie,
			    const char *name)
{
	struct hook hook = {.module = search->module, .cookie = cookie, .name = name};
	struct hooks *hooks = search->hooks;

	if (!image_code_offset(&search->code, address, &hook.file_offset))
		return NULL;
	for (size_t i = search->first_hook; i < hooks->list.count; i++)
		if (hooks->list.items[i].file_offset == hook.file_offset)
			return NULL;
	return vec_push(&hooks->list, hook) ? NULL : err_no_memory();
}

static struct err *add_unprobed(struct search *search, const char *name, const char *why)
{
	struct unprobed_function unprobed = {search->module, name, why};

	return vec_push(&search->hooks->unprobed, unprobed) ? NULL : err_no_memory();
}

/* The function's bytes in search->code.bytes; none if it is not known how many it has. */
static struct err *read_function(struct search *search, const struct file_function *function)
{
	const struct fde_range *range = NULL;
	uint64_t size = function->size;

	search->code.bytes.count = 0;
	if (!size) {
		struct err *err = image_code_function(&search->code, function->address, &range);

		if (err || !range || range->start != function->address)
			return err;
		size = range->end - range->start;
	}
	image_code_read(&search->code, function->address, size);
	return NULL;
}

/* Adds probes where the function is left. *ret: whether all places are known. */
static struct err *add_exits(struct search *search, const struct file_function *function, bool *ret)
{
	cleanup(hook_exits_deinit) struct hook_exits exits = {0};
	struct err *err = hook_exits_find(&search->code, function->address, function->size,
					  &search->functions, search->names, &exits);

	*ret = !err && !exits.failure;
	if (!err && exits.failure)
		return add_unprobed(search, function->name, exits.failure);
	for (size_t i = 0; !err && i < exits.addresses.count; i++)
		err = add_hook(search, exits.addresses.items[i], EXIT_COOKIE, function->name);
	return err;
}

/* The longest chain of jumps: a function, a stub that leads to it, and one more. */
#define JUMPS_MAX 3

/* Whether the function only jumps to another one of the list: that one is probed. */
static bool is_only_jump(struct search *search, const struct file_function *function)
{
	uint64_t at = function->address;
	const char *name;

	for (int jump = 0; jump < JUMPS_MAX; jump++) {
		if (image_code_jump(&search->code, at, &at, &name) != IMAGE_JUMP_HERE)
			return false;
		for (size_t i = 0; i < search->functions.list.count; i++)
			if (search->functions.list.items[i].address == at)
				return at != function->address;
	}
	return false;
}

/*
 * Whether mallow's agent has patched the function's entry in the process. A probe elsewhere in what
 * it has moved would not be hit, or would break the jump.
 */
static bool is_patched(const struct search *search, const struct file_function *function)
{
	uint8_t memory = 0, jump;
	size_t at = probe_place_patch(search->code.bytes.items, search->code.bytes.count, &jump);

	for (size_t i = 0; at && i < search->target->spans.count; i++) {
		const struct target_span *span = &search->target->spans.items[i];
		uint64_t address = function->address + span->bias + at;
		struct iovec into = {&memory, 1}, from = {(void *)(uintptr_t)address, 1};

		if (span->module == search->module && address >= span->start &&
		    address < span->end &&
		    process_vm_readv(search->target->pid, &into, 1, &from, 1, 0) == 1)
			return memory == jump;
	}
	return false;
}

static struct err *add_function(struct search *search, const struct file_function *function)
{
	bool known = true;
	struct err *err = NULL;

	if (is_only_jump(search, function))
		return NULL;
	if (function->match.function->throws)
		err = add_exits(search, function, &known);
	if (err || !known)
		return err;
	err = read_function(search, function);
	if (err)
		return err;
	if (is_patched(search, function))
		return err_create("process %d (%s) runs under mallow already, which has patched "
				  "its %s: to trace it, start it with --patch=off",
				  (int)search->target->pid, search->target->program,
				  function->name);

	size_t forward = probe_place_entry(search->code.bytes.items, search->code.bytes.count);

	return add_hook(search, function->address + forward,
			hook_cookie_of(function->match.function), function->name);
}

static bool is_static(const struct elf_image *image)
{
	GElf_Phdr segment;
	size_t count;

	if (elf_getphdrnum(image->elf, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(image->elf, (int)i, &segment) && segment.p_type == PT_INTERP)
			return false;
	return true;
}

/* Reports an allocator that is in a program without symbols. */
static struct err *report_stripped(struct search *search)
{
	struct own_allocator own;

	if (own_allocator_find(search->image, &own) && *own.name) {
		const char *name = arena_text(&search->hooks->arena, own.name);

		return !name ? err_no_memory()
			     : add_unprobed(search, name,
					    "it is linked into the program, whose symbols were "
					    "removed: install the program's debug symbols");
	}
	if (!is_static(search->image))
		return NULL;
	return add_unprobed(search, "malloc",
			    "the program is linked statically, and its symbols were removed: "
			    "install the program's debug symbols");
}

static struct err *add_mappers(struct search *search)
{
	const char *allocator = search->functions.signs.allocator;

	if (!allocator || strcmp(allocator, "jemalloc") != 0)
		return NULL;
	for (size_t i = 0; i < search->functions.mappers.count; i++) {
		struct mapper_code range = search->functions.mappers.items[i];

		range.module = search->module;
		if (!vec_push(&search->hooks->mappers, range))
			return err_no_memory();
	}
	return NULL;
}

static struct err *add_functions(struct search *search)
{
	struct hooks *hooks = search->hooks;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < search->functions.list.count; i++)
		err = add_function(search, &search->functions.list.items[i]);
	if (err || hooks->list.count == search->first_hook)
		return err;

	struct hooked_module hooked = {
		.module = search->module,
		.probes = (uint32_t)(hooks->list.count - search->first_hook),
		.allocator = function_choice_allocator(&search->functions.signs,
						       search->functions.list.items,
						       search->functions.list.count),
	};

	return vec_push(&hooks->modules, hooked) ? add_mappers(search) : err_no_memory();
}

/* Adds the hooks of the target's module of that number. An error: no memory, or no descriptor. */
static struct err *add_module(const struct target *target, uint32_t module,
			      const struct function_names *names, struct hooks *hooks)
{
	cleanup(search_deinit) struct search search = {
		.target = target,
		.names = names,
		.hooks = hooks,
		.module = module,
		.first_hook = hooks->list.count,
		.functions = {.arena = &hooks->arena},
	};
	char path[32];

	if (target->modules.items[module].fd < 0)
		return NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", target->modules.items[module].fd);

	struct err *err = elf_image_open(path, &search.image);

	if (err && err_is_shortage(err))
		return err;
	if (err || !image_code_init(&search.code, search.image)) {
		err_destroy(err);
		return NULL;
	}
	err = image_functions_add(&search.functions, search.image, SHT_DYNSYM, names);
	if (!err)
		err = add_local_functions(&search);
	if (err)
		return err;
	image_functions_choose(&search.functions);
	if (!search.functions.list.count && search.stripped && is_program(&search))
		return report_stripped(&search);
	return add_functions(&search);
}

/* Says that the user's object is not mapped, and which modules could be meant. */
static struct err *not_mapped(const struct target *target, const char *object,
			      const struct function_names *names)
{
	cleanup(hooks_deinit) struct hooks hooks = {0};
	cleanup(buf_deinit) struct buf list = BUF_EMPTY;
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < target->modules.count; i++)
		err = add_module(target, i, names, &hooks);
	if (err)
		return err;
	for (size_t i = 0; i < hooks.modules.count; i++)
		buf_printf(&list, "%s%s (%s)", i ? ", " : "",
			   target->modules.items[hooks.modules.items[i].module].path,
			   hooks.modules.items[i].allocator);

	const char *text = buf_string(&list);

	if (!text)
		return err_no_memory();
	return err_create("process %d has no code of %s mapped; these have an allocator: %s",
			  (int)target->pid, object, *text ? text : "none");
}

struct err *hooks_find(const struct target *target, uint32_t first,
		       const struct hook_options *options, struct hooks *hooks)
{
	struct function_names names;
	const char *object = options->object;
	bool found = !object;
	struct err *err = NULL;

	function_names_init(&names, options->prefix);
	for (uint32_t i = first; !err && i < target->modules.count; i++) {
		if (object && !hook_object_is(target, &target->modules.items[i], object))
			continue;
		found = true;
		err = add_module(target, i, &names, hooks);
	}
	if (!err && !found && !first)
		err = not_mapped(target, object, &names);
	return err;
}

void hooks_deinit(struct hooks *hooks)
{
	vec_deinit(&hooks->list);
	vec_deinit(&hooks->modules);
	vec_deinit(&hooks->unprobed);
	vec_deinit(&hooks->mappers);
	arena_deinit(&hooks->arena);
}

/* What file names of libraries have behind the library's name: .so.6, or a version. */
static bool is_library_end(const char *rest)
{
	return !*rest || *rest == '.' || (*rest == '-' && isdigit((unsigned char)rest[1]));
}

bool hook_object_is_named(const char *path, const char *object)
{
	const char *name = file_name(path);
	size_t length = strlen(object);

	if (!length)
		return false;
	if (strncmp(name, object, length) == 0 && is_library_end(name + length))
		return true;
	if (strcmp(object, "c") == 0 && strncmp(name, "ld-musl-", strlen("ld-musl-")) == 0)
		return true;
	return strncmp(name, "lib", 3) == 0 && strncmp(name + 3, object, length) == 0 &&
	       is_library_end(name + 3 + length);
}

static bool is_file(const struct target_module *module, const char *path)
{
	struct stat file, named;

	return module->fd >= 0 && fstat(module->fd, &file) == 0 && stat(path, &named) == 0 &&
	       file.st_dev == named.st_dev && file.st_ino == named.st_ino;
}

bool hook_object_is(const struct target *target, const struct target_module *module,
		    const char *object)
{
	char path[PATH_MAX + 64];

	if (!strchr(object, '/') && hook_object_is_named(module->path, object))
		return true;
	if (is_file(module, object))
		return true;
	if (object[0] != '/')
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/root%s", target->proc, object);
	return is_file(module, path) || strcmp(module->path, object) == 0;
}
