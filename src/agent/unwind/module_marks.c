#include "agent/unwind/module_marks.h"

#include <link.h>
#include <stdatomic.h>

#include "agent/unwind/memory.h"
#include "cfi/exidx.h"

#define MODULES_MAX 256

struct marks {
	uint64_t start; /* of the text */
	bool thumb;
	uint8_t bytes[];
};

static struct marks *_Atomic modules[MODULES_MAX];

/* What the dynamic section leads to. As loaders do, this believes it. */
struct dynamic {
	uint64_t bias;
	const ElfW(Sym) * symbols;
	uint32_t symbol_count;
	const ElfW(Rel) * relocations;
	size_t relocation_count;
};

static struct marks *find(uint64_t start)
{
	for (unsigned i = 0; i < MODULES_MAX; i++) {
		struct marks *marks = atomic_load_explicit(&modules[i], memory_order_acquire);

		if (marks && marks->start == start)
			return marks;
	}
	return NULL;
}

void module_marks_forget(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < MODULES_MAX; i++) {
		struct marks *marks = atomic_load_explicit(&modules[i], memory_order_acquire);

		if (marks && marks->start >= start && marks->start < end)
			atomic_compare_exchange_strong(&modules[i], &marks, NULL);
	}
}

/* Two threads may make the same marks at once: then both stay, and either is right. */
static bool publish(struct marks *marks)
{
	for (unsigned i = 0; i < MODULES_MAX; i++) {
		struct marks *none = NULL;

		if (atomic_compare_exchange_strong(&modules[i], &none, marks))
			return true;
	}
	return false;
}

static bool has_room(void)
{
	for (unsigned i = 0; i < MODULES_MAX; i++)
		if (!atomic_load_explicit(&modules[i], memory_order_relaxed))
			return true;
	return false;
}

/* How many symbols a table of GNU's hashes has: up to the end of the last chain. */
static uint32_t count_of_gnu(const uint32_t *table)
{
	uint32_t bucket_count = table[0], offset = table[1], bloom_words = table[2], last = 0;
	const uint32_t *buckets = table + 4 + bloom_words;
	const uint32_t *chain = buckets + bucket_count;

	for (uint32_t i = 0; i < bucket_count; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (last < offset)
		return offset;
	while (!(chain[last - offset] & 1))
		last++;
	return last + 1;
}

/* glibc relocates the pointers of a dynamic section in place; musl does not. */
static const void *pointer(const struct module_text *module, uint64_t value)
{
	return (const void *)(uintptr_t)(value < module->bias ? value + module->bias : value);
}

static struct dynamic read_dynamic(const struct module_text *module)
{
	struct dynamic ret = {.bias = module->bias};
	const uint32_t *gnu = NULL, *hash = NULL;
	const ElfW(Dyn) *d = (const void *)(uintptr_t)module->dynamic;

	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			ret.symbols = pointer(module, d->d_un.d_ptr);
		else if (d->d_tag == DT_GNU_HASH)
			gnu = pointer(module, d->d_un.d_ptr);
		else if (d->d_tag == DT_HASH)
			hash = pointer(module, d->d_un.d_ptr);
		else if (d->d_tag == DT_REL)
			ret.relocations = pointer(module, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELSZ)
			ret.relocation_count = d->d_un.d_val / sizeof(ElfW(Rel));
	}
	if (ret.symbols)
		ret.symbol_count = hash ? hash[1] : gnu ? count_of_gnu(gnu) : 0;
	if (!ret.relocations)
		ret.relocation_count = 0;
	return ret;
}

static bool is_function(const ElfW(Sym) * symbol)
{
	return (symbol->st_info & 15) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
}

/* Whether most of the functions that it exports are Thumb code; if it exports none, its entry. */
static bool is_thumb(const struct dynamic *dynamic, uint64_t entry)
{
	int64_t more = 0;

	for (uint32_t i = 0; i < dynamic->symbol_count; i++)
		if (is_function(&dynamic->symbols[i]))
			more += dynamic->symbols[i].st_value & 1 ? 1 : -1;
	return more ? more > 0 : entry % 2;
}

/*
 * Words of the data that were moved with the module. Of the rarer kind of code there are fewer
 * functions than numbers that look like one.
 */
static void mark_pointers(const struct dynamic *dynamic, const struct scan_text *text)
{
	for (size_t i = 0; i < dynamic->relocation_count; i++) {
		const ElfW(Rel) *relocation = &dynamic->relocations[i];
		const uint32_t *word =
			(const uint32_t *)(uintptr_t)(dynamic->bias + relocation->r_offset);

		if (ELF32_R_TYPE(relocation->r_info) == R_ARM_RELATIVE && *word % 2 == text->thumb)
			scan_mark_start(text, *word);
	}
}

static bool begins(const struct scan_text *text, uint64_t address, bool thumb)
{
	struct scan_code code = {
		.bytes = text->bytes + (address - text->address),
		.address = address,
		.count = (text->size - (address - text->address)) / 2,
		.thumb = thumb,
	};

	return (thumb || address % 4 == 0) && scan_begins(&code);
}

/* Each entry is of a function; it does not say whether of Thumb code. */
static void mark_tables(const struct scan_text *text)
{
	struct module_tables tables;
	struct exidx_table table;

	if (!module_find_tables(text->address, false, &tables) || !tables.image.size)
		return;
	table = (struct exidx_table){&tables.image, tables.header, tables.header_size};
	for (uint64_t i = 0; i < table.size / 8; i++) {
		uint64_t start = exidx_start(&table, i);
		bool thumb = text->thumb;

		if (start - text->address >= text->size)
			continue;
		if (!begins(text, start, thumb) && begins(text, start, !thumb))
			thumb = !thumb;
		scan_mark_symbol(text, start | thumb, 2);
	}
}

static struct marks *make(const struct module_text *module, struct scan_text *text)
{
	struct dynamic dynamic = read_dynamic(module);
	size_t size = scan_marks_size(text);
	struct marks *marks = has_room() ? unwind_allocate(sizeof(*marks) + size) : NULL;

	if (!marks)
		return NULL;
	marks->start = module->start;
	marks->thumb = is_thumb(&dynamic, module->entry);
	text->marks = marks->bytes;
	text->thumb = marks->thumb;
	scan_mark_calls(text);
	mark_pointers(&dynamic, text);
	mark_tables(text);
	for (uint32_t i = 0; i < dynamic.symbol_count; i++) {
		const ElfW(Sym) *symbol = &dynamic.symbols[i];

		if (is_function(symbol) && symbol->st_size)
			scan_mark_symbol(text, dynamic.bias + symbol->st_value, symbol->st_size);
	}
	return publish(marks) ? marks : NULL;
}

bool module_marks_get(const struct module_text *module, struct scan_text *text)
{
	struct marks *marks = find(module->start);

	if (!marks)
		marks = make(module, text);
	if (!marks)
		return false;
	text->marks = marks->bytes;
	text->thumb = marks->thumb;
	return true;
}
