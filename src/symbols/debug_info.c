#include "symbols/debug_info.h"

#include <elfutils/libdwelf.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "symbols/debug_split.h"

/* DWARF deflates to a third or so; what claims to grow this much is there to exhaust memory. */
#define GROWTH_MAX 256

struct debug_info {
	char *directory; /* of the ELF file */
	Dwarf *dwarf;
	Dwarf *alternate;
	VEC(struct debug_unit) units;
	struct span_map map; /* to units */
};

/* Checks what libdw would believe: the sizes of compressed sections. */
static struct err *check_sections(const struct elf_image *image)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
		GElf_Shdr section;
		GElf_Chdr compressed;

		if (!gelf_getshdr(scn, &section) || !(section.sh_flags & SHF_COMPRESSED))
			continue;
		if (!gelf_getchdr(scn, &compressed) ||
		    compressed.ch_size / GROWTH_MAX > section.sh_size)
			return err_create("%s: the compressed section at offset %#llx claims an "
					  "impossible size",
					  image->path, (unsigned long long)section.sh_offset);
	}
	return NULL;
}

/*
 * Hides what no look-up here reads from libdw, which decompresses all sections of names that it
 * knows when it opens a file: of the C library's debug file these are a fifth.
 */
static void hide_sections(const struct elf_image *image)
{
	static const char *const hidden[] = {".debug_aranges", ".debug_loc",   ".debug_loclists",
					     ".debug_macinfo", ".debug_macro", ".debug_frame"};
	GElf_Shdr section;

	for (size_t i = 0; i < ARRAY_COUNT(hidden); i++) {
		Elf_Scn *scn = elf_image_section(image, hidden[i]);

		if (!scn || !gelf_getshdr(scn, &section) || !(section.sh_flags & SHF_COMPRESSED))
			continue;
		section.sh_type = SHT_NOBITS; // in memory only: the file is open for reading
		gelf_update_shdr(scn, &section);
	}
}

/*
 * Where libdw was given no alternate file, it looks for the one named by itself, when a DIE first
 * refers to it, and would wait for a FIFO of that name.
 */
static struct err *check_alternate(const struct elf_image *image, const char *directory)
{
	Elf_Data *data = elf_image_section_data(image, ".gnu_debugaltlink");
	char path[PATH_MAX];

	if (!data || !memchr(data->d_buf, 0, data->d_size))
		return NULL;

	const char *name = data->d_buf;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (debug_split_is_unsafe(name[0] == '/' ? name : path))
		return err_create("%s: its shared debug file %s is no regular file", image->path,
				  name);
	return NULL;
}

static struct err *open_dwarf(const struct elf_image *image, Dwarf **ret)
{
	struct err *err = check_sections(image);

	if (err)
		return err;

	hide_sections(image);

	Dwarf *dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);

	if (!dwarf)
		return err_create("%s: %s", image->path, dwarf_errmsg(-1));
	*ret = dwarf;
	return NULL;
}

static struct err *index_units(struct debug_info *info)
{
	cleanup(span_ranges_deinit) struct span_ranges ranges = {0};
	Dwarf_CU *cu = NULL;
	Dwarf_Off last = 0;
	Dwarf_Die die;

	// Without asking for the split units: that would open each .dwo file.
	while (!dwarf_get_units(info->dwarf, cu, &cu, NULL, NULL, &die, NULL)) {
		struct debug_unit unit;
		uint32_t index = (uint32_t)info->units.count;

		// Units come in rising order.
		if (index && dwarf_dieoffset(&die) <= last)
			break;
		last = dwarf_dieoffset(&die);
		debug_unit_init(&unit, &die);
		if (info->units.count >= SPAN_NONE || !vec_push(&info->units, unit))
			return err_no_memory();

		struct err *err = debug_unit_add_ranges(&die, index, &ranges);

		if (err)
			return err;
	}
	return span_map_init(&info->map, &ranges);
}

CLEANUP_DEFINE(struct debug_info *, debug_info_destroy);

struct err *debug_info_create(const struct elf_image *image, const struct elf_image *alternate,
			      struct debug_info **ret)
{
	cleanup(debug_info_destroy_at) struct debug_info *info = calloc(1, sizeof(*info));
	char path[PATH_MAX];

	if (!info)
		return err_no_memory();
	// As libdw does: relative to where the file is, not to the link that led to it.
	if (!realpath(image->path, path))
		snprintf(path, sizeof(path), "%s", image->path);
	info->directory = strdup(dirname(path));
	if (!info->directory)
		return err_no_memory();

	struct err *err = alternate ? open_dwarf(alternate, &info->alternate)
				    : check_alternate(image, info->directory);

	if (!err)
		err = open_dwarf(image, &info->dwarf);
	if (err)
		return err;
	if (info->alternate)
		dwarf_setalt(info->dwarf, info->alternate);
	err = index_units(info);
	if (err)
		return err;
	*ret = steal(&info);
	return NULL;
}

void debug_info_destroy(struct debug_info *info)
{
	if (!info)
		return;
	for (size_t i = 0; i < info->units.count; i++)
		debug_unit_deinit(&info->units.items[i]);
	vec_deinit(&info->units);
	span_map_deinit(&info->map);
	dwarf_end(info->dwarf);
	dwarf_end(info->alternate);
	free(info->directory);
	free(info);
}

struct err *debug_info_find(struct debug_info *info, uint64_t address, struct debug_frames *ret)
{
	uint32_t unit = span_map_find(&info->map, address);

	if (unit == SPAN_NONE)
		return NULL;
	return debug_unit_find(&info->units.items[unit], info->directory, address, ret);
}
