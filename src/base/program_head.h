/*
 * What the first bytes of a program's file tell about preloading a library into it. The tool asks
 * before it runs a program, the agent before the program executes another one. No heap, no C
 * library.
 */
#ifndef MALLOW_BASE_PROGRAM_HEAD_H
#define MALLOW_BASE_PROGRAM_HEAD_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define PROGRAM_HEAD_SIZE     4096 /* enough for the ELF header, program headers and any #! line */
#define PROGRAM_SCRIPTS_DEPTH 5    /* how many interpreters may be scripts: the kernel's limit */

static inline bool program_head_is_elf(const uint8_t *head, size_t size)
{
	return size >= sizeof(Elf64_Ehdr) && !__builtin_memcmp(head, ELFMAG, SELFMAG);
}

/* Class, byte order and machine in one number. */
static inline uint32_t program_head_machine(const uint8_t *head)
{
	return head[EI_CLASS] | (uint32_t)head[EI_DATA] << 8 |
	       (uint32_t)bytes_u16(head + offsetof(Elf64_Ehdr, e_machine)) << 16;
}

/* Whether no dynamic loader reads LD_PRELOAD: without PT_INTERP the kernel starts none. */
static inline bool program_head_is_static(const uint8_t *head, size_t size)
{
	uint64_t at = bytes_u64(head + offsetof(Elf64_Ehdr, e_phoff));
	unsigned int count = bytes_u16(head + offsetof(Elf64_Ehdr, e_phnum));

	if (head[EI_CLASS] != ELFCLASS64 ||
	    bytes_u16(head + offsetof(Elf64_Ehdr, e_phentsize)) != sizeof(Elf64_Phdr))
		return false;
	for (; count; count--, at += sizeof(Elf64_Phdr)) {
		if (at > size - sizeof(Elf64_Phdr))
			return false; // program headers are not in the head: not known
		if (bytes_u32(head + at) == PT_INTERP)
			return false;
	}
	return true;
}

/*
 * Whether libmallow.a is linked into the program: it leaves a note in it
 * (agent/ground/link_map_static.c). Linkers put notes before everything else.
 */
static inline bool program_head_is_linked(const uint8_t *head, size_t size)
{
	static const struct {
		uint32_t name_size, content_size, type;
		char name[8];
	} note = {7, 0, 1, "mallow"};

	for (size_t at = 0; at + sizeof(note) <= size; at += 4) {
		size_t same = 0;

		while (same < sizeof(note) && head[at + same] == ((const uint8_t *)&note)[same])
			same++;
		if (same == sizeof(note))
			return true;
	}
	return false;
}

/*
 * The interpreter of a "#!" line, which is *length bytes long. NULL: the file is no script.
 */
static inline const char *program_head_interpreter(const uint8_t *head, size_t size, size_t *length)
{
	const char *text = (const char *)head;
	size_t begin = 2, end;

	if (size < 3 || text[0] != '#' || text[1] != '!')
		return NULL;
	while (begin < size && (text[begin] == ' ' || text[begin] == '\t'))
		begin++;
	for (end = begin; end < size && text[end]; end++)
		if (text[end] == ' ' || text[end] == '\t' || text[end] == '\r' || text[end] == '\n')
			break;
	*length = end - begin;
	return *length ? text + begin : NULL;
}

#endif
