#include "symbols/own_allocator.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "allocators/function_names.h"
#include "base/compiler.h"

/* The groups of function_names.h, by number. */
#define GROUPS 16

/* A function that only jemalloc has ends so, whatever prefix it was built with. */
#define ANY_JEMALLOC "mallocx"

/* The allocator that surely has this function: a bit. 0: none. */
static uint32_t sure_of(const char *symbol)
{
	size_t length = strlen(symbol), end = strlen(ANY_JEMALLOC);
	uint32_t rank;
	const char *allocator = function_names_allocator(symbol, &rank);

	for (uint32_t i = 0; allocator && i < GROUPS; i++) {
		const char *name = function_names_of_group(1u << i);

		if (name && strcmp(name, allocator) == 0)
			return 1u << i;
	}
	return length > end && strcmp(symbol + length - end, ANY_JEMALLOC) == 0 ? ALLOCATOR_JE : 0;
}

/* The allocators that may have it: bits. */
static uint32_t groups_of(const struct function_names *functions, const char *symbol)
{
	uint32_t inside = function_names_inside(symbol);
	struct function_match match;

	return inside ? inside : function_names_match(functions, symbol, &match) ? match.group : 0;
}

/* Most symbols are nobody's: told by their first letter, or by jemalloc's last one. */
static bool may_be(const char *symbol)
{
	return *symbol && (strchr("_jtTmrs", *symbol) || symbol[strlen(symbol) - 1] == 'x');
}

/* What a table has of an allocator. */
struct found {
	const char *symbol; /* the first of its functions; better one for its callers; NULL: none */
	bool inside;        /* that is not for its callers */
	bool two;           /* another one is there, too */
	bool allocates; /* one of them does so by its name: mi_new and mi_free may be anybody's */
};

static void note_symbol(struct found *found, const char *symbol)
{
	bool is_inside = function_names_inside(symbol);

	found->two |= found->symbol && strcmp(found->symbol, symbol) != 0;
	found->allocates |= is_inside || strstr(symbol, "alloc");
	if (found->symbol && (is_inside || !found->inside))
		return;
	found->symbol = symbol;
	found->inside = is_inside;
}

static void add_name(struct own_allocator *ret, const char *name)
{
	size_t size = strlen(ret->name);

	snprintf(ret->name + size, sizeof(ret->name) - size, "%s%s", size ? " and " : "", name);
}

/* Two functions of an allocator, or one that only it has. */
static bool find_in(const struct elf_image *image, const char *table, struct own_allocator *ret)
{
	Elf_Scn *section = elf_image_section(image, table);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	struct found found[GROUPS] = {0};
	struct function_names functions;
	GElf_Shdr header;
	GElf_Sym symbol;

	if (!data || !gelf_getshdr(section, &header))
		return false;
	function_names_init(&functions, NULL);
	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		const char *text;
		uint32_t groups, sure;

		if (symbol.st_shndx == SHN_UNDEF || GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		text = elf_strptr(image->elf, header.sh_link, symbol.st_name);
		if (!text || !may_be(text))
			continue;
		sure = sure_of(text);
		groups = sure ? 0 : groups_of(&functions, text);
		for (uint32_t j = 0; j < GROUPS; j++) {
			if (sure >> j & 1)
				found[j] = (struct found){text, false, true, true};
			if (groups >> j & 1)
				note_symbol(&found[j], text);
		}
	}
	for (uint32_t i = 0; i < GROUPS; i++) {
		const char *name = function_names_of_group(1u << i);

		if (!name || !found[i].two || !found[i].allocates)
			continue;
		if (!*ret->name)
			snprintf(ret->symbol, sizeof(ret->symbol), "%s", found[i].symbol);
		add_name(ret, name);
	}
	return *ret->name;
}

static bool is_program(const struct elf_image *image)
{
	GElf_Ehdr header;

	return (gelf_getehdr(image->elf, &header) && header.e_type == ET_EXEC) ||
	       elf_image_section(image, ".interp") || !elf_image_section(image, ".dynsym");
}

/*
 * Looks for the beginnings of the allocator's messages. These are put together at run time, so that
 * this program's own constants do not match. An allocator gives memory back by madvise(); of
 * libraries that do not call it, and there are many, no page is read.
 */
static bool find_messages(const struct elf_image *image, struct own_allocator *ret)
{
	char texts[][24] = {"*jemalloc>: ", "*cmalloc: large alloc ", "*imalloc: warning: "};
	static const uint32_t groups[] = {ALLOCATOR_JE, ALLOCATOR_TC, ALLOCATOR_MI};
	const Elf_Data *constants;

	texts[0][0] = '<';
	texts[1][0] = 't';
	texts[2][0] = 'm';
	if (!is_program(image) && !elf_image_imports(image, "madvise"))
		return false;
	constants = elf_image_section_data(image, ".rodata");
	for (size_t i = 0; constants && i < ARRAY_COUNT(texts); i++)
		if (memmem(constants->d_buf, constants->d_size, texts[i], strlen(texts[i])))
			add_name(ret, function_names_of_group(groups[i]));
	return *ret->name;
}

bool own_allocator_find(const struct elf_image *image, struct own_allocator *ret)
{
	*ret = (struct own_allocator){.provides = elf_image_provides(image, "malloc")};
	// Python has mimalloc in it, and uses it only if it is told so.
	if (elf_image_provides(image, "PyObject_Malloc"))
		return false;
	if (find_in(image, ".symtab", ret) || find_in(image, ".dynsym", ret))
		return true;
	return (!elf_image_has_symbols(image, SHT_SYMTAB) && find_messages(image, ret)) ||
	       ret->provides;
}
