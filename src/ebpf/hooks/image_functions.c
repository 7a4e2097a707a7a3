#include "ebpf/hooks/image_functions.h"

#include <stdlib.h>
#include <string.h>

#include "ebpf/bpf/hook.h"

/* Notes what a symbol says about the image. */
static void note_signs(struct image_functions *functions, const char *name, bool exported)
{
	uint32_t rank;
	const char *allocator = hook_names_allocator(name, &rank);

	if (allocator && (!functions->allocator || rank < functions->allocator_rank)) {
		functions->allocator = allocator;
		functions->allocator_rank = rank;
	}
	if (exported && strcmp(name, "_dl_allocate_tls") == 0)
		functions->is_loader = true;
	if (strcmp(name, "__libc_start_main") == 0)
		functions->is_c_library = true;
	if (strstr(name, "__rg_alloc"))
		functions->rust_replaced = true;
	if (strstr(name, "__rdl_alloc"))
		functions->rust_default = true;
}

/*
 * By these jemalloc maps memory for itself: os_pages_map(), je_pages_map(), _rjem_je_pages_map(), …
 */
static bool is_jemallocs_mapper(const char *name)
{
	return strstr(name, "pages_map") || strstr(name, "pages_commit");
}

static struct err *add_symbol(struct image_functions *functions, const GElf_Sym *symbol,
			      const char *name, bool exported, const struct hook_names *names)
{
	struct image_function function = {
		.address = symbol->st_value, .size = symbol->st_size, .exported = exported};

	note_signs(functions, name, exported);
	if (is_jemallocs_mapper(name) &&
	    !vec_push(&functions->mappers,
		      ((struct mapper_code){.start = function.address,
					    .end = function.address + function.size})))
		return err_no_memory();
	if (!hook_names_match(names, name, &function.match))
		return NULL;
	// jemalloc may have any prefix.
	note_signs(functions, function.match.function->name, false);
	function.name = arena_text(functions->arena, name);
	return function.name && vec_push(&functions->list, function) ? NULL : err_no_memory();
}

struct err *image_functions_add(struct image_functions *functions, const struct elf_image *image,
				uint32_t table, const struct hook_names *names)
{
	GElf_Shdr section;
	GElf_Sym symbol;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
		if (!gelf_getshdr(scn, &section) || section.sh_type != table)
			continue;

		Elf_Data *data = elf_getdata(scn, NULL);

		for (int i = 1; data && gelf_getsym(data, i, &symbol); i++) {
			if (symbol.st_shndx == SHN_UNDEF ||
			    GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
				continue;

			const char *name = elf_strptr(image->elf, section.sh_link, symbol.st_name);
			struct err *err = name ? add_symbol(functions, &symbol, name,
							    table == SHT_DYNSYM, names)
					       : NULL;

			if (err)
				return err;
		}
	}
	return NULL;
}

/* Which groups have what an allocator needs: of others, calls were inlined, or names are chance. */
static uint32_t complete_groups(const struct image_functions *functions)
{
	uint32_t allocate = HOOK_USER, release = HOOK_USER;

	for (size_t i = 0; i < functions->list.count; i++) {
		const struct hook_match *match = &functions->list.items[i].match;
		uint32_t act = HOOK_ACT_OF(match->function->cookie);

		// Without a prefix the names are too common: a program may have its own valloc().
		if (match->group == HOOK_PLAIN && strcmp(match->function->name, "malloc") != 0 &&
		    strcmp(match->function->name, "free") != 0)
			continue;
		if (act == HOOK_ALLOC)
			allocate |= match->group;
		else if (act == HOOK_FREE)
			release |= match->group;
	}
	return allocate & release;
}

/* Whether the image stands in for the C library's mmap, as tcmalloc and sanitizers do. */
static bool replaces_mmap(const struct image_functions *functions)
{
	bool map = false, unmap = false;

	for (size_t i = 0; i < functions->list.count; i++) {
		const struct image_function *function = &functions->list.items[i];
		uint32_t act = HOOK_ACT_OF(function->match.function->cookie);

		map |= function->exported && act == HOOK_MMAP;
		unmap |= function->exported && act == HOOK_MUNMAP;
	}
	return map && unmap;
}

static bool is_libc_allocator(const struct image_functions *functions)
{
	return functions->allocator && (strcmp(functions->allocator, "glibc") == 0 ||
					strcmp(functions->allocator, "musl") == 0);
}

/* The groups whose functions are to be probed. */
static uint32_t chosen_groups(const struct image_functions *functions)
{
	uint32_t complete = complete_groups(functions), groups = complete & HOOK_ANY;

	if (functions->is_loader)
		return 0;
	if (groups & HOOK_PLAIN)
		groups &= ~(uint32_t)HOOK_LIBC;
	// libstdc++'s operators call malloc. Those that come with an allocator do not.
	if (groups & ~(uint32_t)(HOOK_LIBC | HOOK_USER) && !is_libc_allocator(functions))
		groups |= HOOK_CXX;
	// Rust's own __rdl_alloc calls malloc. If it is not there, the program has another one.
	if (functions->rust_replaced || !functions->rust_default)
		groups |= complete & HOOK_RUST;
	if (functions->is_c_library || (groups & HOOK_PLAIN && replaces_mmap(functions)))
		groups |= HOOK_MAP;
	return groups;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct image_function *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->match.rank > y->match.rank) - (x->match.rank < y->match.rank);
}

void image_functions_choose(struct image_functions *functions)
{
	uint32_t groups = chosen_groups(functions);
	struct image_function *list = functions->list.items;
	size_t kept = 0;

	for (size_t i = 0; i < functions->list.count; i++)
		if (list[i].match.group & groups)
			list[kept++] = list[i];
	functions->list.count = kept;
	if (!kept)
		return;
	qsort(list, kept, sizeof(*list), compare_addresses);
	kept = 0;
	for (size_t i = 0; i < functions->list.count; i++) {
		if (kept && list[kept - 1].address == list[i].address) {
			if (!list[kept - 1].size)
				list[kept - 1].size = list[i].size;
		} else {
			list[kept++] = list[i];
		}
	}
	functions->list.count = kept;
}

void image_functions_deinit(struct image_functions *functions)
{
	vec_deinit(&functions->list);
	vec_deinit(&functions->mappers);
}
