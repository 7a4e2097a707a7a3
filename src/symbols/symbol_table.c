#include "symbols/symbol_table.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"

/*
 * The order of names for one address: the lower rank is better. Functions come before untyped
 * labels; names that other files can see before local ones; then names without leading underscores
 * (`malloc` before `__libc_malloc`, `write`, though weak, before `__write`); then strong before
 * weak. What is still equal: the shorter name, then the one that sorts first.
 */
enum {
	RANK_WEAK = 1,
	RANK_UNDERSCORE = 2,
	RANK_LOCAL = 4,
	RANK_UNTYPED = 8,
};

static bool is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

static uint8_t rank_of(const GElf_Sym *symbol, const char *name)
{
	unsigned int binding = GELF_ST_BIND(symbol->st_info);
	uint8_t rank = 0;

	if (GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE)
		rank |= RANK_UNTYPED;
	if (binding == STB_LOCAL)
		rank |= RANK_LOCAL;
	if (binding == STB_WEAK)
		rank |= RANK_WEAK;
	if (name[0] == '_' && !is_mangled(name))
		rank |= RANK_UNDERSCORE;
	return rank;
}

/*
 * Whether a name is a mapping symbol ($x, $d.12, …): on ARM and RISC-V these mark changes between
 * code and data.
 */
static bool is_mapping_mark(const char *name)
{
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) &&
	       (!name[2] || name[2] == '.' || !strncmp(name + 1, "xrv", 3));
}

/* A table that is being read. The section of the last symbol is kept, because most are in .text. */
struct reading {
	const struct elf_image *image;
	size_t names;
	uint16_t machine;
	size_t index; /* of `section`; 0: none yet */
	GElf_Shdr section;
};

/* The section of that index. NULL: there is no code in it. */
static const GElf_Shdr *code_section(struct reading *reading, size_t index)
{
	if (reading->index != index) {
		if (!gelf_getshdr(elf_getscn(reading->image->elf, index), &reading->section))
			return NULL;
		reading->index = index;
	}
	return reading->section.sh_flags & SHF_EXECINSTR ? &reading->section : NULL;
}

/* Reads an entry. false: it is no function. A symbol without a size gets high = low. */
static bool read_function(struct reading *reading, const GElf_Sym *symbol, struct table_symbol *ret)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);
	const GElf_Shdr *section;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE)
		return false;
	section = code_section(reading, symbol->st_shndx);
	if (!section)
		return false;

	const char *name = elf_strptr(reading->image->elf, reading->names, symbol->st_name);
	uint64_t low = symbol->st_value;

	if (!name || !name[0] || is_mapping_mark(name))
		return false;
	if (reading->machine == EM_ARM)
		low &= ~UINT64_C(1); // bit 0 marks Thumb code
	if (low < section->sh_addr || low - section->sh_addr >= section->sh_size ||
	    section->sh_size > UINT64_MAX - section->sh_addr)
		return false;

	uint64_t room = section->sh_size - (low - section->sh_addr);

	*ret = (struct table_symbol){
		.low = low,
		.high = low + (symbol->st_size < room ? symbol->st_size : room),
		.name = name,
		.section_end = section->sh_addr + section->sh_size,
		.rank = rank_of(symbol, name),
	};
	return true;
}

static struct err *add_section(struct symbol_table *table, const struct elf_image *image,
			       Elf_Scn *scn, size_t names)
{
	struct reading reading = {.image = image, .names = names};
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Ehdr header;
	GElf_Sym symbol;

	if (!data || !data->d_buf || !gelf_getehdr(image->elf, &header))
		return NULL;
	reading.machine = header.e_machine;
	for (int i = 1; gelf_getsym(data, i, &symbol); i++) {
		struct table_symbol function;

		if (!read_function(&reading, &symbol, &function))
			continue;

		if (table->list.count >= SPAN_NONE || !vec_push(&table->list, function))
			return err_no_memory();
	}
	return NULL;
}

struct err *symbol_table_add(struct symbol_table *table, const struct elf_image *image,
			     uint32_t type)
{
	GElf_Shdr section;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
		if (!gelf_getshdr(scn, &section) || section.sh_type != type)
			continue;

		struct err *err = add_section(table, image, scn, section.sh_link);

		if (err)
			return err;
	}
	return NULL;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct table_symbol *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;

	size_t x_length = strlen(x->name), y_length = strlen(y->name);

	if (x_length != y_length)
		return x_length < y_length ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Keeps only the first of the symbols at one address, with the size of the largest. */
static void merge_aliases(struct symbol_table *table)
{
	struct table_symbol *symbols = table->list.items;
	size_t kept = 0;

	for (size_t i = 0; i < table->list.count; i++) {
		if (kept && symbols[kept - 1].low == symbols[i].low) {
			if (symbols[kept - 1].high < symbols[i].high)
				symbols[kept - 1].high = symbols[i].high;
		} else {
			symbols[kept++] = symbols[i];
		}
	}
	table->list.count = kept;
}

/* Drops labels without type and size that lie inside a function: they are no functions. */
static void drop_inner_labels(struct symbol_table *table)
{
	struct table_symbol *symbols = table->list.items;
	uint64_t end = 0;
	size_t kept = 0;

	for (size_t i = 0; i < table->list.count; i++) {
		bool sized = symbols[i].high > symbols[i].low;

		if (!sized && symbols[i].rank & RANK_UNTYPED && symbols[i].low < end)
			continue;
		if (end < symbols[i].high)
			end = symbols[i].high;
		symbols[kept++] = symbols[i];
	}
	table->list.count = kept;
}

/* Ends each symbol without a size where the next one begins, or its section ends. */
static void extend_sizeless(struct symbol_table *table)
{
	for (size_t i = 0; i < table->list.count; i++) {
		struct table_symbol *symbol = &table->list.items[i];

		if (symbol->high > symbol->low)
			continue;
		symbol->high = symbol->section_end;
		if (i + 1 < table->list.count && symbol[1].low < symbol->high)
			symbol->high = symbol[1].low;
	}
}

struct err *symbol_table_index(struct symbol_table *table)
{
	cleanup(span_ranges_deinit) struct span_ranges ranges = {0};

	if (!table->list.count)
		return NULL;
	qsort(table->list.items, table->list.count, sizeof(*table->list.items), compare_symbols);
	merge_aliases(table);
	drop_inner_labels(table);
	extend_sizeless(table);
	for (size_t i = 0; i < table->list.count; i++) {
		const struct table_symbol *symbol = &table->list.items[i];
		struct err *err = span_ranges_add(&ranges, symbol->low, symbol->high, (uint32_t)i);

		if (err)
			return err;
	}
	return span_map_init(&table->map, &ranges);
}

void symbol_table_deinit(struct symbol_table *table)
{
	vec_deinit(&table->list);
	span_map_deinit(&table->map);
}

const struct table_symbol *symbol_table_find(const struct symbol_table *table, uint64_t address)
{
	uint32_t index = span_map_find(&table->map, address);

	return index == SPAN_NONE ? NULL : &table->list.items[index];
}
