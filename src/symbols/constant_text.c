#include "symbols/constant_text.h"

#include <string.h>

#define CODE_MAX 48        /* bytes; what is looked for has a dozen */
#define TEXT_MAX (1 << 20) /* longer ones are damage */

/* Bytes of the image at an address of its memory, and how many follow in that section. */
struct memory {
	const uint8_t *bytes;
	size_t size;
};

/* wanted: SHF_EXECINSTR for code, 0 for data that cannot be written to. */
static bool memory_at(const struct elf_image *image, uint64_t address, uint64_t wanted,
		      struct memory *ret)
{
	GElf_Shdr section;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
		Elf_Data *data;
		uint64_t offset;

		if (!gelf_getshdr(scn, &section) || section.sh_type == SHT_NOBITS ||
		    !(section.sh_flags & SHF_ALLOC) ||
		    (section.sh_flags & (SHF_EXECINSTR | SHF_WRITE)) != wanted ||
		    address < section.sh_addr || address - section.sh_addr >= section.sh_size)
			continue;
		data = elf_rawdata(scn, NULL);
		offset = address - section.sh_addr;
		if (!data || !data->d_buf || offset >= data->d_size)
			return false;
		*ret = (struct memory){(const uint8_t *)data->d_buf + offset,
				       data->d_size - offset};
		return true;
	}
	return false;
}

static bool find_in_table(const struct elf_image *image, uint32_t type, const char *function,
			  uint64_t *address)
{
	GElf_Shdr section;
	GElf_Sym symbol;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &section) || section.sh_type != type)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 1; data && data->d_buf && gelf_getsym(data, i, &symbol); i++) {
			const char *name = elf_strptr(image->elf, section.sh_link, symbol.st_name);

			if (symbol.st_shndx == SHN_UNDEF || !name || strcmp(name, function) != 0)
				continue;
			*address = symbol.st_value;
			return true;
		}
	}
	return false;
}

/* How the code goes on, at which byte of the function. */
struct code {
	const uint8_t *bytes;
	size_t size, at;
	uint64_t address; /* of the first byte */
};

static bool take(struct code *code, const char *bytes, size_t size)
{
	if (code->size - code->at < size || memcmp(code->bytes + code->at, bytes, size) != 0)
		return false;
	code->at += size;
	return true;
}

/* Little-endian. */
static uint64_t take_number(struct code *code, size_t size)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size && code->at + i < code->size; i++)
		value |= (uint64_t)code->bytes[code->at + i] << 8 * i;
	code->at += size;
	return value;
}

static uint64_t take_signed(struct code *code)
{
	return (uint64_t)(int64_t)(int32_t)take_number(code, 4);
}

/* endbr64, nothing, push %rbp, mov %rsp,%rbp (which has two encodings). */
static void skip_opening(struct code *code)
{
	while (take(code, "\xf3\x0f\x1e\xfa", 4) || take(code, "\x90", 1) ||
	       take(code, "\x55", 1) || take(code, "\x48\x89\xe5", 3) ||
	       take(code, "\x48\x8b\xec", 3))
		;
}

/* The instruction that puts a constant into %rax. */
static bool take_constant(struct code *code, uint64_t *ret)
{
	if (take(code, "\x48\x8d\x05", 3)) { // lea number(%rip),%rax
		uint64_t distance = take_signed(code);

		*ret = code->address + code->at + distance;
	} else if (take(code, "\xb8", 1)) { // mov $number,%eax
		*ret = take_number(code, 4);
	} else if (take(code, "\x48\xc7\xc0", 3)) { // mov $number,%rax
		*ret = take_signed(code);
	} else if (take(code, "\x48\xb8", 2)) { // movabs $number,%rax
		*ret = take_number(code, 8);
	} else {
		return false;
	}
	return code->at <= code->size;
}

/* pop %rbp or leave, then ret, with or without a prefix for branch prediction. */
static bool take_closing(struct code *code)
{
	while (take(code, "\x5d", 1) || take(code, "\xc9", 1) || take(code, "\x90", 1))
		;
	return take(code, "\xc3", 1) || take(code, "\xf3\xc3", 2);
}

struct err *constant_text(const struct elf_image *image, const char *function, char **text)
{
	struct memory memory;
	struct code code = {0};
	GElf_Ehdr header;
	uint64_t constant;
	size_t length;

	*text = NULL;
	if (!gelf_getehdr(image->elf, &header) || header.e_machine != EM_X86_64 ||
	    (!find_in_table(image, SHT_SYMTAB, function, &code.address) &&
	     !find_in_table(image, SHT_DYNSYM, function, &code.address)) ||
	    !memory_at(image, code.address, SHF_EXECINSTR, &memory))
		return NULL;
	code.bytes = memory.bytes;
	code.size = memory.size < CODE_MAX ? memory.size : CODE_MAX;
	skip_opening(&code);
	if (!take_constant(&code, &constant) || !take_closing(&code) ||
	    !memory_at(image, constant, 0, &memory))
		return NULL;
	length = strnlen((const char *)memory.bytes,
			 memory.size < TEXT_MAX ? memory.size : TEXT_MAX);
	if (length == memory.size || length == TEXT_MAX)
		return NULL;
	*text = strndup((const char *)memory.bytes, length);
	return *text ? NULL : err_no_memory();
}
