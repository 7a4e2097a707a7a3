#include "ebpf/hooks/image_functions.h"

#include <string.h>

/*
 * By these jemalloc maps memory for itself: os_pages_map(), je_pages_map(), _rjem_je_pages_map(), …
 */
static bool is_jemallocs_mapper(const char *name)
{
	return strstr(name, "pages_map") || strstr(name, "pages_commit");
}

static struct err *add_symbol(struct image_functions *functions, const GElf_Sym *symbol,
			      const char *name, bool exported, const struct function_names *names)
{
	struct file_function function = {
		.address = symbol->st_value, .size = symbol->st_size, .exported = exported};

	function_choice_note(&functions->signs, name, exported);
	if (is_jemallocs_mapper(name) &&
	    !vec_push(&functions->mappers,
		      ((struct mapper_code){.start = function.address,
					    .end = function.address + function.size})))
		return err_no_memory();
	if (!function_names_match(names, name, &function.match))
		return NULL;
	// jemalloc may have any prefix.
	function_choice_note(&functions->signs, function.match.function->name, false);
	function.name = arena_text(functions->arena, name);
	return function.name && vec_push(&functions->list, function) ? NULL : err_no_memory();
}

struct err *image_functions_add(struct image_functions *functions, const struct elf_image *image,
				uint32_t table, const struct function_names *names)
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

void image_functions_choose(struct image_functions *functions)
{
	functions->list.count = function_choice_make(&functions->signs, functions->list.items,
						     functions->list.count);
}

void image_functions_deinit(struct image_functions *functions)
{
	vec_deinit(&functions->list);
	vec_deinit(&functions->mappers);
}
