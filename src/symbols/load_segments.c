#include "symbols/load_segments.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "hosted/page_size.h"

static bool read_at(int fd, const void *memory, size_t size, uint64_t offset, void *into,
		    size_t length)
{
	if (!memory)
		return offset <= INT64_MAX &&
		       pread(fd, into, length, (off_t)offset) == (ssize_t)length;
	if (offset > size || length > size - offset)
		return false;
	memcpy(into, (const char *)memory + offset, length);
	return true;
}

static bool is_for(const Elf64_Ehdr *header, uint32_t machine)
{
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       (!machine || header->e_machine == machine) &&
	       header->e_phentsize == sizeof(Elf64_Phdr);
}

bool load_segments_read(int fd, const void *memory, size_t size, uint32_t machine,
			struct load_segments *ret)
{
	struct load_segments segments = {0};
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (!read_at(fd, memory, size, 0, &header, sizeof(header)) || !is_for(&header, machine))
		return false;
	for (uint64_t i = 0; i < header.e_phnum && segments.count < LOAD_SEGMENTS_MAX; i++) {
		if (!read_at(fd, memory, size, header.e_phoff + i * sizeof(segment), &segment,
			     sizeof(segment)))
			break;
		if (segment.p_type != PT_LOAD || !segment.p_filesz ||
		    segment.p_filesz > UINT64_MAX - segment.p_offset - 2 * page_size() ||
		    segment.p_filesz > UINT64_MAX - segment.p_vaddr)
			continue;
		segments.list[segments.count++] = (struct load_segment){
			.offset = segment.p_offset,
			.address = segment.p_vaddr,
			.size = segment.p_filesz,
			.executable = segment.p_flags & PF_X,
		};
	}
	*ret = segments;
	return segments.count > 0;
}

bool load_segments_address(const struct load_segments *segments, uint64_t offset, uint64_t *ret)
{
	const struct load_segment *found = NULL;

	for (size_t i = 0; i < segments->count; i++) {
		const struct load_segment *segment = &segments->list[i];

		// The loader maps whole pages.
		if (offset < page_down(segment->offset) ||
		    offset >= page_up(segment->offset + segment->size))
			continue;
		if (!found || (segment->executable && !found->executable))
			found = segment;
	}
	if (found)
		*ret = found->address - found->offset + offset;
	return found;
}

bool load_segments_have_code(const struct load_segments *segments, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < segments->count; i++) {
		const struct load_segment *segment = &segments->list[i];

		if (segment->executable && start >= page_down(segment->address) &&
		    end <= page_up(segment->address + segment->size))
			return true;
	}
	return false;
}

bool load_segments_offset(const struct load_segments *segments, uint64_t address, uint64_t *ret,
			  uint64_t *left)
{
	for (size_t i = 0; i < segments->count; i++) {
		const struct load_segment *segment = &segments->list[i];

		if (!segment->executable || address < segment->address ||
		    address - segment->address >= segment->size)
			continue;
		*ret = segment->offset + (address - segment->address);
		*left = segment->size - (address - segment->address);
		return true;
	}
	return false;
}
