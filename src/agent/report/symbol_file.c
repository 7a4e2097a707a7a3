#include "agent/report/symbol_file.h"

#include <link.h>

#include "agent/arch/syscall.h"
#include "agent/ground/libc.h"
#include "agent/record/build_id.h"
#include "agent/report/report_sort.h"
#include "base/first_where.h"

#define PART_MAX (1u << 30)

struct reading {
	int fd;
	uint64_t size;
	struct report_memory *memory;
	ElfW(Ehdr) header;
};

/* Reads a part of the file into memory. NULL: the file is too short, or there is no memory. */
static const void *read_part(const struct reading *reading, uint64_t offset, uint64_t size)
{
	char *bytes;
	uint64_t done = 0;

	if (offset > reading->size || size > reading->size - offset || size > PART_MAX)
		return NULL;
	bytes = report_memory_take(reading->memory, size);
	while (bytes && done < size) {
		long got = sys_pread(reading->fd, bytes + done, size - done, offset + done);

		if (got <= 0)
			return NULL;
		done += (uint64_t)got;
	}
	return bytes;
}

static bool read_header(struct reading *reading)
{
	const ElfW(Ehdr) *header = read_part(reading, 0, sizeof(*header));

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_ident[EI_CLASS] != ARCH_ELF_CLASS ||
	    header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_shentsize != sizeof(ElfW(Shdr)))
		return false;
	reading->header = *header;
	return true;
}

static bool has_build_id(const struct reading *reading, const uint8_t *build_id, size_t size)
{
	const ElfW(Phdr) *phdr = read_part(reading, reading->header.e_phoff,
					   reading->header.e_phnum * sizeof(*phdr));

	for (unsigned int i = 0; phdr && i < reading->header.e_phnum; i++) {
		const uint8_t *notes, *id;

		if (phdr[i].p_type != PT_NOTE)
			continue;
		notes = read_part(reading, phdr[i].p_offset, phdr[i].p_filesz);
		if (notes && build_id_in_notes(notes, phdr[i].p_filesz, &id) == size)
			return !memcmp(id, build_id, size);
	}
	return false;
}

static const ElfW(Shdr) *
	find_section(const struct reading *reading, const ElfW(Shdr) * sections, uint32_t type)
{
	for (unsigned int i = 0; i < reading->header.e_shnum; i++)
		if (sections[i].sh_type == type && sections[i].sh_link < reading->header.e_shnum &&
		    sections[i].sh_entsize == sizeof(ElfW(Sym)))
			return &sections[i];
	return NULL;
}

static bool is_before(const void *a, const void *b, int by)
{
	const ElfW(Sym) *first = a, *second = b;

	// If a function has several names the last one is found: a global one, if there is one.
	if (first->st_value != second->st_value)
		return first->st_value < second->st_value;
	if (ELF64_ST_BIND(first->st_info) != ELF64_ST_BIND(second->st_info))
		return ELF64_ST_BIND(second->st_info) == STB_GLOBAL;
	return first < second;
}

static bool is_function(const struct symbol_file *file, const ElfW(Sym) * symbol)
{
	int type = ELF64_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_name < file->names_size && file->names[symbol->st_name];
}

static void read_symbols(struct symbol_file *file, const struct reading *reading)
{
	const ElfW(Shdr) *sections = read_part(reading, reading->header.e_shoff,
					       reading->header.e_shnum * sizeof(*sections));
	const ElfW(Shdr) * table, *names;
	const ElfW(Sym) * symbols;
	size_t count;

	table = sections ? find_section(reading, sections, SHT_SYMTAB) : NULL;
	if (sections && !table)
		table = find_section(reading, sections, SHT_DYNSYM);
	if (!table)
		return;
	names = &sections[table->sh_link];
	count = table->sh_size / sizeof(*symbols);
	symbols = read_part(reading, table->sh_offset, table->sh_size);
	file->names = read_part(reading, names->sh_offset, names->sh_size);
	file->functions = report_memory_take(reading->memory, count * sizeof(*file->functions));
	// The last name must end within the section.
	if (!symbols || !file->names || !file->functions || !names->sh_size ||
	    file->names[names->sh_size - 1])
		return;
	file->names_size = names->sh_size;
	for (size_t i = 0; i < count; i++)
		if (is_function(file, &symbols[i]))
			file->functions[file->count++] = &symbols[i];
	report_sort(file->functions, file->count, is_before, 0);
}

void symbol_file_read(struct symbol_file *file, const char *path, const uint8_t *build_id,
		      size_t build_id_size, struct report_memory *memory)
{
	struct reading reading = {
		.fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0),
		.memory = memory,
	};
	struct kernel_stat stat = {0};

	if (reading.fd < 0)
		return;
	if (sys_fstat(reading.fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
		reading.size = (uint64_t)stat.st_size;
		if (read_header(&reading) &&
		    (!build_id_size || has_build_id(&reading, build_id, build_id_size)))
			read_symbols(file, &reading);
	}
	sys_close(reading.fd);
}

const char *symbol_file_find(const struct symbol_file *file, uint64_t address, uint64_t *offset)
{
	const ElfW(Sym) *const *functions = (const void *)file->functions;
	size_t behind = first_where(i, 0, file->count, functions[i]->st_value > address);
	const ElfW(Sym) * symbol;

	if (!behind)
		return NULL;
	symbol = functions[behind - 1];
	// Code in assembly may have no size.
	if (symbol->st_size && address - symbol->st_value >= symbol->st_size)
		return NULL;
	*offset = address - symbol->st_value;
	return file->names + symbol->st_name;
}
