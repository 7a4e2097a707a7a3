#include "agent/patch/patch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

#include "agent/arch/syscall.h"
#include "agent/ground/libc.h"
#include "agent/ground/own_place.h"
#include "agent/record/build_id.h"

#define PAGE 4096u

/* So many bytes of constants are looked through at most. */
#define CONSTANTS_MAX (32u << 20)

/* The bytes [offset, offset + size) of the file. NULL: it does not have them. */
static const void *part(const struct patch_file *file, uint64_t offset, uint64_t size)
{
	return offset <= file->size && size <= file->size - offset ? file->bytes + offset : NULL;
}

/* The same for words: NULL also if they are not where words are. */
static const void *words(const struct patch_file *file, uint64_t offset, uint64_t size)
{
	return offset % sizeof(uint64_t) ? NULL : part(file, offset, size);
}

static const ElfW(Ehdr) * header_of(const struct patch_file *file)
{
	const ElfW(Ehdr) *header = part(file, 0, sizeof(*header));

	return header && !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
			       header->e_ident[EI_CLASS] == ARCH_ELF_CLASS &&
			       header->e_machine == EM_X86_64
		       ? header
		       : NULL;
}

/* NULL: there are none, or their table is not whole. */
static const ElfW(Shdr) * sections_of(const struct patch_file *file, size_t *count)
{
	const ElfW(Ehdr) *header = header_of(file);

	*count = header && header->e_shoff && header->e_shentsize == sizeof(ElfW(Shdr))
			 ? header->e_shnum
			 : 0;
	return *count ? words(file, header->e_shoff, *count * sizeof(ElfW(Shdr))) : NULL;
}

static const ElfW(Phdr) * segments_of(const struct patch_file *file, size_t *count)
{
	const ElfW(Ehdr) *header = header_of(file);

	*count = header && header->e_phentsize == sizeof(ElfW(Phdr)) ? header->e_phnum : 0;
	return *count ? words(file, header->e_phoff, *count * sizeof(ElfW(Phdr))) : NULL;
}

bool patch_file_open(const char *path, struct patch_file *ret)
{
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	struct kernel_stat status;
	void *bytes = NULL;

	if (fd < 0)
		return false;
	if (!sys_fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size > 0)
		bytes = own_place_map_file((size_t)status.st_size, fd);
	sys_close(fd);
	*ret = (struct patch_file){bytes, bytes ? (size_t)status.st_size : 0};
	if (bytes && header_of(ret))
		return true;
	if (bytes)
		patch_file_close(ret);
	return false;
}

void patch_file_close(struct patch_file *file)
{
	own_place_unmap((void *)file->bytes, file->size);
	*file = (struct patch_file){0};
}

static void add_function(const ElfW(Sym) * symbol, const char *name, bool exported,
			 const struct function_names *names, struct patch_functions *ret)
{
	struct file_function function = {
		.address = symbol->st_value,
		.size = symbol->st_size,
		.name = name,
		.exported = exported,
	};

	function_choice_note(&ret->signs, name, exported);
	if (!function_names_match(names, name, &function.match)) {
		function_names_prefix(name, ret->prefix);
		return;
	}
	// jemalloc may have any prefix.
	function_choice_note(&ret->signs, function.match.function->name, false);
	ret->overflow |= ret->count == ret->room;
	if (ret->count < ret->room)
		ret->list[ret->count++] = function;
}

/* Notes a symbol that is no plain function, if its name is that of one. */
static void note_odd(const ElfW(Sym) * symbol, const char *name, const struct function_names *names,
		     struct patch_functions *ret)
{
	int type = ELF64_ST_TYPE(symbol->st_info);
	char base[FUNCTION_NAMES_PREFIX];
	struct function_match match;
	size_t length = 0;

	while (name[length] && name[length] != '.' && length < sizeof(base) - 1)
		length++;
	if (!length || length == sizeof(base) - 1 || ret->odd ||
	    (type == STT_FUNC && (!name[length] || !strncmp(name + length, ".cold", 5))) ||
	    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
		return;
	memcpy(base, name, length);
	base[length] = '\0';
	if (!function_names_match(names, base, &match))
		return;
	ret->odd = name;
	ret->odd_group = match.group;
}

static void add_table(const struct patch_file *file, const ElfW(Shdr) * table,
		      const ElfW(Shdr) * strings, const struct function_names *names,
		      struct patch_functions *ret)
{
	const ElfW(Sym) *symbols = words(file, table->sh_offset, table->sh_size);
	const char *text = part(file, strings->sh_offset, strings->sh_size);
	bool exported = table->sh_type == SHT_DYNSYM;

	if (!symbols || !text || !strings->sh_size || text[strings->sh_size - 1])
		return;
	ret->has_symbols |= !exported;
	for (size_t i = 1; i < table->sh_size / sizeof(*symbols); i++)
		if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name < strings->sh_size) {
			const char *name = text + symbols[i].st_name;

			if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC)
				add_function(&symbols[i], name, exported, names, ret);
			if (!function_names_nested(name))
				note_odd(&symbols[i], name, names, ret);
		}
}

void patch_file_functions(const struct patch_file *file, const struct function_names *names,
			  struct patch_functions *ret)
{
	size_t count;
	const ElfW(Shdr) *sections = sections_of(file, &count);

	bool seen[2] = {false, false}; // a file has one of each

	for (size_t i = 0; sections && i < count; i++) {
		bool *one = &seen[sections[i].sh_type == SHT_DYNSYM];

		if ((sections[i].sh_type != SHT_SYMTAB && sections[i].sh_type != SHT_DYNSYM) ||
		    sections[i].sh_link >= count || *one)
			continue;
		*one = true;
		add_table(file, &sections[i], &sections[sections[i].sh_link], names, ret);
	}
}

/* The first function, or code without a type, that stands in [start, end). NULL: none. */
static const ElfW(Sym) * symbol_in(const struct patch_file *file, uint64_t start, uint64_t end)
{
	size_t count;
	const ElfW(Shdr) *sections = sections_of(file, &count);

	for (size_t i = 0; sections && i < count; i++) {
		const ElfW(Sym) * symbols;

		if (sections[i].sh_type != SHT_SYMTAB && sections[i].sh_type != SHT_DYNSYM)
			continue;
		symbols = words(file, sections[i].sh_offset, sections[i].sh_size);
		for (size_t j = 1; symbols && j < sections[i].sh_size / sizeof(*symbols); j++)
			if (symbols[j].st_value - start < end - start &&
			    symbols[j].st_shndx != SHN_UNDEF &&
			    (ELF64_ST_TYPE(symbols[j].st_info) == STT_FUNC ||
			     ELF64_ST_TYPE(symbols[j].st_info) == STT_NOTYPE))
				return &symbols[j];
	}
	return NULL;
}

uint64_t patch_file_size_of(const struct patch_file *file, uint64_t address)
{
	const ElfW(Sym) *symbol = symbol_in(file, address, address + 1);

	return symbol ? symbol->st_size : 0;
}

bool patch_file_has_symbol(const struct patch_file *file, uint64_t start, uint64_t end)
{
	return symbol_in(file, start, end);
}

const uint8_t *patch_file_code(const struct patch_file *file, uint64_t address, size_t *readable)
{
	size_t count;
	const ElfW(Phdr) *segments = segments_of(file, &count);

	for (size_t i = 0; segments && i < count; i++) {
		uint64_t offset = address - segments[i].p_vaddr;

		if (segments[i].p_type != PT_LOAD || !(segments[i].p_flags & PF_X) ||
		    !(segments[i].p_flags & PF_R) || offset >= segments[i].p_filesz ||
		    !part(file, segments[i].p_offset, segments[i].p_filesz))
			continue;
		*readable = segments[i].p_filesz - offset;
		return file->bytes + segments[i].p_offset + offset;
	}
	return NULL;
}

bool patch_file_range(const struct patch_file *file, uint64_t *start, uint64_t *end)
{
	size_t count;
	const ElfW(Phdr) *segments = segments_of(file, &count);

	*start = UINT64_MAX;
	*end = 0;
	for (size_t i = 0; segments && i < count; i++) {
		if (segments[i].p_type != PT_LOAD || !(segments[i].p_flags & PF_X))
			continue;
		if (segments[i].p_vaddr < *start)
			*start = segments[i].p_vaddr;
		if (segments[i].p_vaddr + segments[i].p_memsz > *end)
			*end = segments[i].p_vaddr + segments[i].p_memsz;
	}
	return *start < *end;
}

size_t patch_file_build_id(const struct patch_file *file, const uint8_t **ret)
{
	size_t count, size = 0;
	const ElfW(Phdr) *segments = segments_of(file, &count);

	for (size_t i = 0; segments && i < count && !size; i++) {
		const uint8_t *notes =
			segments[i].p_offset % sizeof(uint32_t)
				? NULL
				: part(file, segments[i].p_offset, segments[i].p_filesz);

		if (segments[i].p_type == PT_NOTE && notes)
			size = build_id_in_notes(notes, segments[i].p_filesz, ret);
	}
	return size;
}

bool patch_file_is_at(const struct patch_file *file, uint64_t bias)
{
	size_t count, size;
	const ElfW(Phdr) *segments = segments_of(file, &count);

	for (size_t i = 0; segments && i < count; i++) {
		const uint64_t *memory = (const uint64_t *)(bias + segments[i].p_vaddr);

		if (segments[i].p_type != PT_LOAD || segments[i].p_offset)
			continue;
		// The headers alone: what follows them may have been changed (link_map_redirect()).
		size = header_of(file)->e_phoff + count * sizeof(*segments);
		if (size > PAGE || size > segments[i].p_filesz)
			size = sizeof(ElfW(Ehdr));
		// Whether anything is mapped there: the kernel reads the word before it refuses
		// the invalid argument (stack_bounds.c).
		return !((uint64_t)memory % PAGE) && part(file, 0, size) &&
		       sys_sigprocmask(-1, (const void *)memory, NULL) != -EFAULT &&
		       memcmp(memory, file->bytes, size) == 0;
	}
	return false;
}

bool patch_file_is_jemalloc(const struct patch_file *file)
{
	static const char message[] = "<jemalloc>: ";
	size_t count, length = sizeof(message) - 1;
	const ElfW(Phdr) *segments = segments_of(file, &count);

	for (size_t i = 0; segments && i < count; i++) {
		uint64_t size = segments[i].p_filesz;
		const char *bytes = part(file, segments[i].p_offset, size);

		if (segments[i].p_type != PT_LOAD || segments[i].p_flags & (PF_X | PF_W) || !bytes)
			continue;
		for (uint64_t at = 0; at + length <= size && at < CONSTANTS_MAX; at++)
			if (bytes[at] == '<' && !memcmp(bytes + at, message, length))
				return true;
	}
	return false;
}
