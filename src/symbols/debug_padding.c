#include "symbols/debug_padding.h"

#include <endian.h>
#include <gelf.h>
#include <string.h>

#include "base/compiler.h"

/*
 * How many NULs: enough to end a string, and for the longest number that libdw reads without a
 * check.
 */
#define PADDING 16

enum kind { OTHER, STRINGS, UNITS, LINES, OFFSETS };

static enum kind kind_of(const char *name)
{
	static const struct {
		const char *name;
		enum kind kind;
	} kinds[] = {{"str", STRINGS}, {"line_str", STRINGS}, {"info", UNITS},
		     {"types", UNITS}, {"line", LINES},       {"str_offsets", OFFSETS}};
	// Also .zdebug_…, .debug_….dwo and .gnu.debuglto_.debug_….
	const char *rest = strstr(name, "debug_");

	for (size_t i = 0; rest && i < ARRAY_COUNT(kinds); i++) {
		size_t length = strlen(kinds[i].name);
		const char *end = rest + strlen("debug_") + length;

		if (strncmp(end - length, kinds[i].name, length) == 0 &&
		    (!*end || strcmp(end, ".dwo") == 0))
			return kinds[i].kind;
	}
	return OTHER;
}

/* Whether a section is compressed in the old way, that of .zdebug_… sections. */
static bool is_packed_old_way(Elf_Scn *scn)
{
	static const char magic[] = {'Z', 'L', 'I', 'B'};
	Elf_Data *data = elf_getdata(scn, NULL);

	return data && data->d_buf && data->d_size >= sizeof(magic) &&
	       memcmp(data->d_buf, magic, sizeof(magic)) == 0;
}

/*
 * Decompresses a section if it is compressed. false: that failed, so libdw will not read it either.
 */
static bool unpack(Elf_Scn *scn, bool old_way)
{
	GElf_Shdr section;

	if (!gelf_getshdr(scn, &section))
		return false;
	if (section.sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)
		return false;
	if (old_way && !(section.sh_flags & SHF_COMPRESSED))
		elf_compress_gnu(scn, 0, 0);
	// libdw would decompress later what is still compressed now: hide it.
	if (!old_way || !is_packed_old_way(scn) || !gelf_getshdr(scn, &section))
		return true;
	section.sh_type = SHT_NOBITS; // changed in memory only
	gelf_update_shdr(scn, &section);
	return false;
}

/* A section that may be padded. */
struct section {
	Elf_Scn *scn;
	enum kind kind;
};

/* Steps to the next such section, and decompresses it. false: there is none. */
static bool next_section(Elf *elf, size_t names, struct section *section)
{
	GElf_Shdr header;

	while ((section->scn = elf_nextscn(elf, section->scn))) {
		if (!gelf_getshdr(section->scn, &header) || header.sh_type == SHT_NOBITS)
			continue;

		const char *name = elf_strptr(elf, names, header.sh_name);

		section->kind = name ? kind_of(name) : OTHER;
		if (section->kind != OTHER &&
		    unpack(section->scn, strstr(name, ".zdebug_") == name))
			return true;
	}
	return false;
}

/*
 * The section with the offsets by which attributes name strings. Two such sections: the file is
 * damaged.
 */
struct offsets {
	size_t sections;
	Elf_Data *data;
};

static struct offsets find_offsets(Elf *elf, size_t names)
{
	struct section section = {0};
	struct offsets offsets = {0};

	while (next_section(elf, names, &section)) {
		if (section.kind != OFFSETS)
			continue;
		offsets.sections++;
		offsets.data = elf_rawdata(section.scn, NULL);
	}
	return offsets;
}

/*
 * Whether one of the offsets may be `offset`. Any four bytes count, as each attribute says itself
 * where its offset stands.
 */
static bool may_hold(const struct offsets *offsets, size_t offset)
{
	uint32_t little = htole32((uint32_t)offset), big = htobe32((uint32_t)offset);
	const Elf_Data *data = offsets->data;

	if (offsets->sections > 1)
		return true;
	return data && data->d_buf &&
	       (memmem(data->d_buf, data->d_size, &little, sizeof(little)) ||
		memmem(data->d_buf, data->d_size, &big, sizeof(big)));
}

static struct err *pad(const struct section *section, const struct offsets *offsets,
		       struct arena *arena, bool *has_no_end)
{
	// Some versions of libdw read the one, some the other; both have the same bytes.
	Elf_Data *data = elf_getdata(section->scn, NULL), *raw = elf_rawdata(section->scn, NULL);

	if (section->kind == OFFSETS || !data || !raw || !raw->d_buf || !raw->d_size)
		return NULL;
	*has_no_end = ((const char *)raw->d_buf)[raw->d_size - 1];
	if (!*has_no_end && !(section->kind == STRINGS && may_hold(offsets, raw->d_size)))
		return NULL;

	char *copy = arena_alloc(arena, raw->d_size + PADDING);

	if (!copy)
		return err_no_memory();
	memcpy(copy, raw->d_buf, raw->d_size);
	data->d_buf = raw->d_buf = copy;
	// libdw 0.190 and later knows no string behind the section's last NUL.
	if (*has_no_end && section->kind == STRINGS)
		data->d_size = ++raw->d_size;
	return NULL;
}

struct err *debug_padding_add(Elf *elf, struct arena *arena, struct debug_padding *ret)
{
	struct section section = {0};
	struct offsets offsets;
	size_t names;

	*ret = (struct debug_padding){0};
	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	offsets = find_offsets(elf, names);
	while (next_section(elf, names, &section)) {
		bool has_no_end = false;
		struct err *err = pad(&section, &offsets, arena, &has_no_end);

		if (err)
			return err;
		ret->strings |= has_no_end && section.kind == STRINGS;
		ret->units |= has_no_end && section.kind == UNITS;
	}
	return NULL;
}
