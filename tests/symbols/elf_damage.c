#include "elf_damage.h"

#include <elf.h>
#include <string.h>

/* Bytes of a file. */
struct range {
	size_t low, high;
};

uint64_t elf_damage_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* One damage at a place: a bit, or a value of interest over 1 to 8 bytes. */
static void damage(uint8_t *bytes, size_t at, size_t end, uint64_t *state)
{
	static const uint64_t values[] = {
		0,          1,          0x7f,       0x80,           0xff,     0x7fffffff,
		0x80000000, 0xffffffff, UINT64_MAX, UINT64_MAX - 7, INT64_MAX};
	uint64_t value = values[elf_damage_random(state) % (sizeof(values) / sizeof(*values))];
	size_t size = 1u << elf_damage_random(state) % 4;

	if (elf_damage_random(state) % 2)
		bytes[at] ^= (uint8_t)(1 << elf_damage_random(state) % 8);
	else
		memcpy(bytes + at, &value, size < end - at ? size : end - at);
}

/* A section, most of which are DWARF; the whole file where there is none. */
static struct range any_section(const uint8_t *bytes, size_t size, const Elf64_Ehdr *header,
				uint64_t *state)
{
	uint64_t index = header->e_shnum ? elf_damage_random(state) % header->e_shnum : 0;
	Elf64_Shdr section;

	if (header->e_shoff > size || (size - header->e_shoff) / sizeof(section) <= index)
		return (struct range){0, size};
	memcpy(&section, bytes + header->e_shoff + index * sizeof(section), sizeof(section));
	if (section.sh_type == SHT_NOBITS || !section.sh_size || section.sh_offset >= size ||
	    section.sh_size > size - section.sh_offset)
		return (struct range){0, size};
	return (struct range){section.sh_offset, section.sh_offset + section.sh_size};
}

/* The last bytes of a section without a NUL: strings have no end there. */
static void fill_end(uint8_t *bytes, const struct range *range, uint64_t *state)
{
	size_t length = 1 + elf_damage_random(state) % 40, room = range->high - range->low;

	if (length > room)
		length = room;
	for (size_t i = range->high - length; i < range->high; i++)
		bytes[i] |= !bytes[i];
}

size_t elf_damage(uint8_t *bytes, size_t size, uint64_t *state)
{
	struct range range = {0, size};
	Elf64_Ehdr header;

	if (size <= sizeof(header))
		return size;
	memcpy(&header, bytes, sizeof(header));
	switch (elf_damage_random(state) % 8) {
	case 0:
		return elf_damage_random(state) % size;
	case 1:
		range.high = sizeof(header);
		break;
	case 2:
		range.low = header.e_shoff < size ? header.e_shoff : 0;
		break;
	case 3:
		break;
	case 4:
		range = any_section(bytes, size, &header, state);
		fill_end(bytes, &range, state);
		return size;
	default:
		range = any_section(bytes, size, &header, state);
	}
	for (uint64_t count = 1 + elf_damage_random(state) % 20; count; count--)
		damage(bytes, range.low + elf_damage_random(state) % (range.high - range.low), size,
		       state);
	return size;
}
