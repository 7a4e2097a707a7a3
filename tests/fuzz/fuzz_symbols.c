/*
 * libFuzzer target: bytes as the names that a recording carries. Where they are accepted, each
 * position is looked up, and what is found must be text that can be read.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/names/symbols_section.h"

#define ADDRESSES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t read_bytes; /* so that no reading is optimised away */

static void find(struct symbols_section *section, uint32_t module, uint64_t address)
{
	const struct symbol *symbols;
	size_t count;

	if (symbols_section_find(section, module, address, &symbols, &count))
		abort();
	for (size_t i = 0; i < count; i++) {
		read_bytes += symbols[i].raw_function ? strlen(symbols[i].raw_function) : 0;
		read_bytes += symbols[i].file ? strlen(symbols[i].file) : 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbols_section *section = NULL;
	struct err *err = symbols_section_open(data, size, &section);
	uint32_t module;
	const char *note;
	bool named;

	if (err) {
		err_destroy(err);
		return 0;
	}
	for (uint32_t kind = 0; kind < 2; kind++) {
		module = symbols_section_module(section, kind ? "/p" : NULL,
						(const uint8_t *)"\1\2", kind ? 2 : 0);
		for (uint64_t address = 0; module != UINT32_MAX && address < ADDRESSES; address++)
			find(section, module, address);
		if (module == UINT32_MAX)
			continue;
		find(section, module, SYMBOLS_NOTE);
		note = symbols_section_note(section, module, &named);
		read_bytes += note ? strlen(note) : named;
	}
	symbols_section_close(section);
	return 0;
}
