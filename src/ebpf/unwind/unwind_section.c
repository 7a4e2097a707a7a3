/* See unwind_section.h. */
#include "ebpf/unwind/unwind_section.h"

#include <elf.h>

#define ADDRESSES_END UINT64_C(0xffffffff)

/* A part of the file that has addresses. */
struct extent {
	uint64_t offset, address, size;
};

static struct extent extent_of(const GElf_Phdr *segment)
{
	return (struct extent){segment->p_offset, segment->p_vaddr, segment->p_filesz};
}

static bool ends_within_64_bits(const struct extent *extent)
{
	return extent->size <= UINT64_MAX - extent->address &&
	       extent->size <= UINT64_MAX - extent->offset;
}

/* Reads that part of the file. False: the file is shorter, or there is no memory. */
static bool read_extent(const struct elf_image *elf, const struct extent *extent,
			struct eh_image *ret)
{
	Elf_Data *data;

	if (!ends_within_64_bits(extent) || extent->size == 0 || extent->offset > INT64_MAX)
		return false;
	data = elf_getdata_rawchunk(elf->elf, (int64_t)extent->offset, extent->size, ELF_T_BYTE);
	if (!data || !data->d_buf || data->d_size != extent->size)
		return false;
	*ret = (struct eh_image){data->d_buf, data->d_size, extent->address};
	return true;
}

/* The first segment of that type that holds the address. size 0: any address. */
static bool find_segment(const struct elf_image *elf, uint32_t type, uint64_t address,
			 uint64_t size, struct extent *ret)
{
	GElf_Phdr segment;
	size_t count;

	if (elf_getphdrnum(elf->elf, &count) != 0)
		return false;
	for (int i = 0; i < (int)count; i++) {
		if (!gelf_getphdr(elf->elf, i, &segment) || segment.p_type != type)
			continue;
		if (size != 0 && (address - segment.p_vaddr > segment.p_filesz ||
				  size > segment.p_filesz - (address - segment.p_vaddr)))
			continue;
		*ret = extent_of(&segment);
		return true;
	}
	return false;
}

static bool find_section(const struct elf_image *elf, const char *name, struct extent *ret)
{
	Elf_Scn *section = elf_image_section(elf, name);
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC))
		return false;
	*ret = (struct extent){header.sh_offset, header.sh_addr, header.sh_size};
	return true;
}

/* The smallest part of the file that holds both. False: they are not of one segment. */
static bool join_extents(const struct extent *a, const struct extent *b, struct extent *ret)
{
	const struct extent *low = a->offset < b->offset ? a : b;
	const struct extent *high = low == a ? b : a;
	uint64_t between = high->offset - low->offset;

	if (!ends_within_64_bits(a) || !ends_within_64_bits(b) ||
	    high->address - low->address != between)
		return false;
	*ret = *low;
	if (ret->size < between + high->size)
		ret->size = between + high->size;
	return true;
}

bool unwind_section_eh_frame(const struct elf_image *elf, struct unwind_section *ret)
{
	struct extent header, section, both;
	bool has_header = find_segment(elf, PT_GNU_EH_FRAME, 0, 0, &header) && header.size != 0;
	struct unwind_section found = {.format = EH_FORMAT_EH_FRAME};

	if (has_header)
		found.header = header.address;
	if (find_section(elf, ".eh_frame", &section)) {
		found.start = section.address;
		found.end = section.address + section.size;
		found.has_header = has_header && join_extents(&header, &section, &both);
		if (!found.has_header)
			both = section;
	} else if (has_header && find_segment(elf, PT_LOAD, header.address, header.size, &both)) {
		// The header says where .eh_frame is. Linkers put both into one segment.
		found.has_header = true;
	} else {
		return false;
	}
	if (!read_extent(elf, &both, &found.image))
		return false;
	*ret = found;
	return true;
}

bool unwind_section_debug_frame(const struct elf_image *elf, struct unwind_section *ret)
{
	Elf_Scn *section = elf_image_section(elf, ".debug_frame");
	struct unwind_section found = {.format = EH_FORMAT_DEBUG_FRAME};
	GElf_Shdr header;
	Elf_Data *data;

	if (!section || !gelf_getshdr(section, &header))
		return false;
	if (header.sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0)
		return false;
	data = elf_getdata(section, NULL);
	if (!data || !data->d_buf || data->d_size == 0)
		return false;
	found.image = (struct eh_image){data->d_buf, data->d_size, 0};
	found.end = data->d_size;
	*ret = found;
	return true;
}

void unwind_section_code(const struct elf_image *elf, uint64_t file_size, struct code_ranges *ret)
{
	size_t count;
	GElf_Phdr segment;

	ret->count = 0;
	if (elf_getphdrnum(elf->elf, &count) != 0)
		return;
	for (int i = 0; i < (int)count && ret->count < CODE_RANGES_MAX; i++) {
		uint64_t end;

		if (!gelf_getphdr(elf->elf, i, &segment) || segment.p_type != PT_LOAD ||
		    !(segment.p_flags & PF_X) || segment.p_offset > file_size)
			continue;
		if (segment.p_filesz > file_size - segment.p_offset)
			segment.p_filesz = file_size - segment.p_offset;
		if (__builtin_add_overflow(segment.p_vaddr, segment.p_filesz, &end) ||
		    end > ADDRESSES_END)
			end = ADDRESSES_END;
		if (segment.p_vaddr < end)
			ret->list[ret->count++] = (struct code_range){segment.p_vaddr, end};
	}
}
