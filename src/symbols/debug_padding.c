#include "symbols/debug_padding.h"

#include <gelf.h>
#include <string.h>

#include "base/compiler.h"

/* Ends a string, and is as long as any number that libdw reads unchecked. */
#define PADDING 16

enum kind { OTHER, STRINGS, UNITS, LINES };

static enum kind kind_of(const char *name)
{
	static const struct {
		const char *name;
		enum kind kind;
	} kinds[] = {{"str", STRINGS},
		     {"line_str", STRINGS},
		     {"info", UNITS},
		     {"types", UNITS},
		     {"line", LINES}};
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

/* Compressed in the way of .zdebug_… sections. */
static bool is_packed_old_way(Elf_Scn *scn)
{
	static const char magic[] = {'Z', 'L', 'I', 'B'};
	Elf_Data *data = elf_getdata(scn, NULL);

	return data && data->d_buf && data->d_size >= sizeof(magic) &&
	       memcmp(data->d_buf, magic, sizeof(magic)) == 0;
}

/* Decompresses a section if it is compressed. false: libdw will not read it. */
static bool unpack(Elf_Scn *scn, bool old_way)
{
	GElf_Shdr section;

	if (!gelf_getshdr(scn, &section))
		return false;
	if (section.sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)
		return false;
	if (old_way && !(section.sh_flags & SHF_COMPRESSED))
		elf_compress_gnu(scn, 0, 0);
	// What is compressed even now, libdw would decompress after us.
	if (!old_way || !is_packed_old_way(scn) || !gelf_getshdr(scn, &section))
		return true;
	section.sh_type = SHT_NOBITS; // in memory only
	gelf_update_shdr(scn, &section);
	return false;
}

static struct err *pad(Elf_Scn *scn, struct arena *arena, bool *padded)
{
	// Versions of libdw take the one or the other; the bytes are the same.
	Elf_Data *data = elf_getdata(scn, NULL), *raw = elf_rawdata(scn, NULL);

	if (!data || !raw || !raw->d_buf || !raw->d_size ||
	    !((const char *)raw->d_buf)[raw->d_size - 1])
		return NULL;

	char *copy = arena_alloc(arena, raw->d_size + PADDING);

	if (!copy)
		return err_no_memory();
	memcpy(copy, raw->d_buf, raw->d_size);
	data->d_buf = raw->d_buf = copy;
	*padded = true;
	return NULL;
}

struct err *debug_padding_add(Elf *elf, struct arena *arena, struct debug_padding *ret)
{
	GElf_Shdr section;
	size_t names;

	*ret = (struct debug_padding){0};
	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		if (!gelf_getshdr(scn, &section) || section.sh_type == SHT_NOBITS)
			continue;

		const char *name = elf_strptr(elf, names, section.sh_name);
		enum kind kind = name ? kind_of(name) : OTHER;
		bool padded = false;

		if (kind == OTHER || !unpack(scn, strstr(name, ".zdebug_") == name))
			continue;

		struct err *err = pad(scn, arena, &padded);

		if (err)
			return err;
		ret->strings |= padded && kind == STRINGS;
		ret->units |= padded && kind == UNITS;
	}
	return NULL;
}
