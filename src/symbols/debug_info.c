#include "symbols/debug_info.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "symbols/debug_index.h"
#include "symbols/debug_padding.h"
#include "symbols/debug_sections.h"
#include "symbols/debug_split.h"

struct debug_info {
	const char *damage;
	struct debug_split split;
	struct elf_image *unpacked, *alternate_unpacked; /* NULL: libdw reads the file itself */
	Dwarf *dwarf;
	Dwarf *alternate;
	struct debug_index index;
	struct debug_names names;
};

static struct err *open_dwarf(struct debug_info *info, struct elf_image *image,
			      struct elf_image **unpacked, Dwarf **ret)
{
	struct debug_padding padding;
	struct err *err = debug_sections_open(image, unpacked);

	if (err)
		return err;
	if (*unpacked)
		image = *unpacked;
	err = debug_padding_add(image->elf, &image->padded, &padding);
	if (err)
		return err;
	if (padding.strings)
		info->damage = "damaged debug information: its strings have no end";

	Dwarf *dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);

	if (!dwarf)
		return err_create("%s: %s", image->path, dwarf_errmsg(-1));
	*ret = dwarf;
	return NULL;
}

CLEANUP_DEFINE(struct debug_info *, debug_info_destroy);

struct err *debug_info_create(struct elf_image *image, struct elf_image *alternate,
			      const struct elf_image *package, struct debug_info **ret)
{
	cleanup(debug_info_destroy_at) struct debug_info *info = calloc(1, sizeof(*info));
	char path[PATH_MAX];

	if (!info)
		return err_no_memory();
	// As in other readers: relative to the directory of the file itself, not of a link to it.
	if (!realpath(image->path, path))
		snprintf(path, sizeof(path), "%s", image->path);
	info->split.package = package;
	info->split.directory = strdup(dirname(path));
	if (!info->split.directory)
		return err_no_memory();

	struct err *err = NULL;

	if (alternate)
		err = open_dwarf(info, alternate, &info->alternate_unpacked, &info->alternate);
	else
		debug_sections_hide_alternate(image);
	if (!err)
		err = open_dwarf(info, image, &info->unpacked, &info->dwarf);
	if (err)
		return err;
	if (info->alternate)
		dwarf_setalt(info->dwarf, info->alternate);
	err = debug_index_init(&info->index, info->dwarf, info->unpacked ? info->unpacked : image);
	if (err)
		return err;
	*ret = steal(&info);
	return NULL;
}

void debug_info_destroy(struct debug_info *info)
{
	if (!info)
		return;
	debug_index_deinit(&info->index);
	debug_names_deinit(&info->names);
	debug_split_deinit(&info->split);
	dwarf_end(info->dwarf);
	dwarf_end(info->alternate);
	elf_image_close(info->unpacked);
	elf_image_close(info->alternate_unpacked);
	free(info);
}

const char *debug_info_damage(const struct debug_info *info)
{
	return info->damage;
}

const char *debug_info_missing(const struct debug_info *info)
{
	return info->split.missing;
}

struct err *debug_info_find(struct debug_info *info, uint64_t address, struct debug_frames *ret)
{
	struct debug_unit *unit;
	struct err *err = debug_index_find(&info->index, address, &unit);

	if (err || !unit)
		return err;
	return debug_unit_find(unit, &info->split, &info->names, address, ret);
}
