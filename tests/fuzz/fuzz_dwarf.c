/*
 * libFuzzer target: an ELF file, of which names all over its code are asked for. What is found must
 * be text that can be read. Mutants keep the form of ELF: half of them are made section by section.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../symbols/elf_damage.h"
#include "symbols/symbolizer.h"

#define ADDRESSES 64 /* of each section of code */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned int seed);
// libFuzzer's; not there in a replay, which makes no mutants.
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);

static volatile size_t read_bytes; /* so that no reading is optimised away */

static void check(struct err *err)
{
	if (err)
		abort();
}

static void find(struct symbolizer *symbolizer, struct symbol_module *module, uint64_t address)
{
	const struct symbol *symbols;
	size_t count;

	check(symbol_module_find(module, address, &symbols, &count));
	for (size_t i = 0; i < count; i++) {
		const char *readable = NULL;

		if (symbols[i].raw_function)
			check(symbolizer_readable(symbolizer, symbols[i].raw_function, &readable));
		read_bytes += readable ? strlen(readable) : 0;
		read_bytes += symbols[i].file ? strlen(symbols[i].file) : 0;
	}
}

/* Addresses from the section headers, as they are. */
static void find_all(struct symbolizer *symbolizer, struct symbol_module *module,
		     const uint8_t *data, size_t size)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;

	if (size < sizeof(header))
		return;
	memcpy(&header, data, sizeof(header));
	for (size_t i = 0; i < header.e_shnum && header.e_shoff < size &&
			   i < (size - header.e_shoff) / sizeof(section);
	     i++) {
		memcpy(&section, data + header.e_shoff + i * sizeof(section), sizeof(section));
		for (uint64_t at = 0;
		     section.sh_flags & SHF_EXECINSTR && at < section.sh_size && at < ADDRESSES;
		     at++)
			find(symbolizer, module, section.sh_addr + at);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("mutant", MFD_CLOEXEC);
	struct symbolizer *symbolizer;
	struct symbol_module *module;
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	unsetenv("DEBUGINFOD_URLS");
	check(symbolizer_create(&symbolizer));
	check(symbolizer_module(symbolizer, path, NULL, 0, &module));
	find_all(symbolizer, module, data, size);
	symbolizer_destroy(symbolizer);
	close(fd);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned int seed)
{
	uint64_t state = ((uint64_t)seed << 1 | 1) * 0x9e3779b97f4a7c15u;

	if (seed % 2 && LLVMFuzzerMutate)
		return LLVMFuzzerMutate(data, size, capacity);
	return elf_damage(data, size, &state);
}
