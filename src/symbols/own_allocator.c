#include "symbols/own_allocator.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

/* The allocators that are told apart, by number, and the words of the list: a bit for each. */
static const char *const names[] = {"jemalloc", "tcmalloc", "mimalloc", "rpmalloc", "snmalloc"};
#define NAMES (ARRAY_COUNT(names))
enum {
	JE = 1,
	TC = 2,
	MI = 4,
	RP = 8,
	SN = 16,
	ANY = 31,
	PLAIN = 0, // of any C library, of other languages: these tell no allocator
	LIBC = 0,
	CXX = 0,
	RUST = 0,
	MAP = 0,
};

struct word {
	const char *text;
	uint32_t groups;
};

/* Functions without their prefixes. */
static const struct word functions[] = {
#define HOOK(name, groups, leaves, act, size, times, pointer, operation, alignment) {name, groups},
#define PREFIX(prefix, group)
#define SIGN(symbol, allocator)
#include "symbols/allocator_functions.def"
#undef HOOK
#undef PREFIX
#define HOOK(name, groups, leaves, act, size, times, pointer, operation, alignment)
};
#define FUNCTIONS (ARRAY_COUNT(functions))

static const struct word prefixes[] = {
#define PREFIX(prefix, group) {prefix, group},
#include "symbols/allocator_functions.def"
#undef PREFIX
#undef SIGN
#define PREFIX(prefix, group)
};
#define PREFIXES (ARRAY_COUNT(prefixes))

/* Functions that only one allocator has. */
static const struct {
	const char *symbol, *allocator;
} signs[] = {
#define SIGN(symbol, allocator) {symbol, allocator},
#include "symbols/allocator_functions.def"
#undef HOOK
#undef PREFIX
#undef SIGN
};
#define SIGNS (ARRAY_COUNT(signs))

/*
 * Beginnings of what allocators call in themselves, which is left where everything else was
 * inlined.
 */
static const struct word inside[] = {
	{"je_arena_", JE}, {"je_tcache_", JE}, {"je_extent", JE}, {"_rjem_je_", JE},
	{"_mi_page_", MI}, {"_mi_heap_", MI},  {"_mi_os_", MI},   {"_mi_arena", MI},
};
#define INSIDE (ARRAY_COUNT(inside))

/* A function that only jemalloc has ends so, whatever prefix it was built with. */
#define ANY_JEMALLOC "mallocx"

static bool begins(const char *text, const char *with)
{
	for (; *with && *text == *with; text++)
		with++;
	return !*with;
}

/* The number of the allocator that surely has this function. NAMES: none. */
static size_t sure_of(const char *symbol)
{
	size_t length = strlen(symbol), end = strlen(ANY_JEMALLOC);

	for (size_t i = 0; i < SIGNS; i++) {
		if (*signs[i].symbol != *symbol || strcmp(signs[i].symbol, symbol) != 0)
			continue;
		for (size_t j = 0; j < NAMES; j++)
			if (strcmp(signs[i].allocator, names[j]) == 0)
				return j;
	}
	return length > end && strcmp(symbol + length - end, ANY_JEMALLOC) == 0 ? 0 : NAMES;
}

static uint32_t inside_of(const char *symbol)
{
	for (size_t i = 0; i < INSIDE; i++)
		if (begins(symbol, inside[i].text))
			return inside[i].groups;
	return 0;
}

/* The allocators that may have it: bits. */
static uint32_t groups_of(const char *symbol)
{
	if (inside_of(symbol))
		return inside_of(symbol);
	for (size_t i = 0; i < PREFIXES; i++) {
		if (!prefixes[i].groups || !begins(symbol, prefixes[i].text))
			continue;
		for (size_t j = 0; j < FUNCTIONS; j++)
			if (strcmp(symbol + strlen(prefixes[i].text), functions[j].text) == 0)
				return functions[j].groups & prefixes[i].groups;
	}
	return 0;
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
	bool is_inside = inside_of(symbol);

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
	struct found found[NAMES] = {0};
	GElf_Shdr header;
	GElf_Sym symbol;

	if (!data || !gelf_getshdr(section, &header))
		return false;
	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		const char *text;
		uint32_t groups;
		size_t number;

		if (symbol.st_shndx == SHN_UNDEF || GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		text = elf_strptr(image->elf, header.sh_link, symbol.st_name);
		if (!text || !may_be(text))
			continue;
		number = sure_of(text);
		groups = number < NAMES ? 0 : groups_of(text);
		if (number < NAMES)
			found[number] = (struct found){text, false, true, true};
		for (size_t j = 0; groups && j < NAMES; j++)
			if (groups >> j & 1)
				note_symbol(&found[j], text);
	}
	for (size_t i = 0; i < NAMES; i++) {
		if (!found[i].two || !found[i].allocates)
			continue;
		if (!*ret->name)
			snprintf(ret->symbol, sizeof(ret->symbol), "%s", found[i].symbol);
		add_name(ret, names[i]);
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
	const Elf_Data *constants;

	texts[0][0] = '<';
	texts[1][0] = 't';
	texts[2][0] = 'm';
	if (!is_program(image) && !elf_image_imports(image, "madvise"))
		return false;
	constants = elf_image_section_data(image, ".rodata");
	for (size_t i = 0; constants && i < ARRAY_COUNT(texts); i++)
		if (memmem(constants->d_buf, constants->d_size, texts[i], strlen(texts[i])))
			add_name(ret, names[i]);
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
