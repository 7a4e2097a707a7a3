#include "agent/record/build_id.h"

#include <link.h>

#include "agent/ground/libc.h"
#include "agent/unwind/unwind.h"
#include "base/bytes.h"

#define MODULE_PAGE 4096 /* readable at the start of every module, or more */

/* A note is a header, then a name and a description, each padded to 4 bytes. */
size_t build_id_in_notes(const uint8_t *notes, size_t size, const uint8_t **ret)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)notes;
		size_t name = bytes_round_up(note->n_namesz, 4);
		size_t description = bytes_round_up(note->n_descsz, 4);
		size_t whole = sizeof(*note) + name + description;

		if (whole > size)
			return 0;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    !memcmp(note + 1, "GNU", 4)) {
			*ret = (const uint8_t *)(note + 1) + name;
			return note->n_descsz < BUILD_ID_MAX ? note->n_descsz : 0;
		}
		notes += whole;
		size -= whole;
	}
	return 0;
}

size_t build_id_of_module(const struct unwind_module *module, const uint8_t **ret)
{
	const ElfW(Ehdr) *header = (const void *)(uintptr_t)module->start;
	const ElfW(Phdr) * phdr;

	// Tools that patch files move the program headers to the file's end, which is not in memory
	// there.
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_phentsize != sizeof(*phdr) ||
	    header->e_phoff + header->e_phnum * sizeof(*phdr) > MODULE_PAGE)
		return 0;
	phdr = (const void *)(uintptr_t)(module->start + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++) {
		uint64_t start = module->bias + phdr[i].p_vaddr;
		size_t size;

		if (phdr[i].p_type != PT_NOTE || start < module->start ||
		    phdr[i].p_memsz > module->end - start)
			continue;
		size = build_id_in_notes((const void *)(uintptr_t)start, phdr[i].p_memsz, ret);
		if (size)
			return size;
	}
	return 0;
}
