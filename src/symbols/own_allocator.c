#include "symbols/own_allocator.h"

#include <stdio.h>
#include <string.h>

#include "hosted/err.h"
#include "symbols/elf_image.h"

/* The functions that programs call instead of malloc. */
static const struct {
	const char *symbol, *name;
} functions[] = {
	{"_rjem_malloc", "jemalloc"}, // Rust's tikv-jemallocator and jemallocator
	{"je_malloc", "jemalloc"},    // configure --with-jemalloc-prefix=je_
	{"mi_malloc", "mimalloc"},
	{"tc_malloc", "tcmalloc"}, // of gperftools
	{"TCMallocInternalMalloc", "tcmalloc"},
	{"rpmalloc", "rpmalloc"},
	{"sn_malloc", "snmalloc"},
	{"sn_rust_alloc", "snmalloc"}, // Rust's snmalloc-rs
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* A function that only jemalloc has ends so, whatever prefix it was built with. */
#define ANY_JEMALLOC "mallocx"

static const char *name_of(const char *symbol)
{
	size_t length = strlen(symbol), end = strlen(ANY_JEMALLOC);

	for (size_t i = 0; i < FUNCTIONS; i++)
		if (strcmp(symbol, functions[i].symbol) == 0)
			return functions[i].name;
	return length > end && strcmp(symbol + length - end, ANY_JEMALLOC) == 0 ? "jemalloc" : NULL;
}

static bool find_in(const struct elf_image *image, const char *table, struct own_allocator *ret)
{
	Elf_Scn *section = elf_image_section(image, table);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Shdr header;
	GElf_Sym symbol;

	if (!data || !gelf_getshdr(section, &header))
		return false;
	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		const char *text;

		if (symbol.st_shndx == SHN_UNDEF || GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		text = elf_strptr(image->elf, header.sh_link, symbol.st_name);
		ret->name = text ? name_of(text) : NULL;
		if (ret->name) {
			snprintf(ret->symbol, sizeof(ret->symbol), "%s", text);
			return true;
		}
	}
	return false;
}

/*
 * Looks for the beginnings of the allocator's messages. These are put together at run time, so that
 * this program's own constants do not match.
 */
static bool find_messages(const struct elf_image *image, struct own_allocator *ret)
{
	char jemalloc[] = "*jemalloc>: ", mimalloc[] = "*imalloc: warning: ";
	const Elf_Data *constants = elf_image_section_data(image, ".rodata");

	jemalloc[0] = '<';
	mimalloc[0] = 'm';
	if (!constants)
		return false;
	if (memmem(constants->d_buf, constants->d_size, jemalloc, strlen(jemalloc)))
		ret->name = "jemalloc";
	else if (memmem(constants->d_buf, constants->d_size, mimalloc, strlen(mimalloc)))
		ret->name = "mimalloc";
	return ret->name != NULL;
}

bool own_allocator_find(const char *program, struct own_allocator *ret)
{
	cleanup(elf_image_close_at) struct elf_image *image = NULL;
	struct err *err = elf_image_open(program, &image);

	*ret = (struct own_allocator){0};
	if (err) {
		err_destroy(err);
		return false;
	}
	if (elf_image_provides(image, "malloc")) {
		strcpy(ret->symbol, "malloc");
		return true;
	}
	if (find_in(image, ".symtab", ret) || find_in(image, ".dynsym", ret))
		return true;
	return !elf_image_has_symbols(image, SHT_SYMTAB) && find_messages(image, ret);
}
