#include "symbols/debug_info.h"

#include <elfutils/libdwelf.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "symbols/debug_index.h"
#include "symbols/debug_sections.h"
#include "symbols/debug_split.h"

struct debug_info {
	char *directory;                                 /* of the ELF file */
	struct elf_image *unpacked, *alternate_unpacked; /* NULL: libdw has the file itself */
	Dwarf *dwarf;
	Dwarf *alternate;
	struct debug_index index;
};

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

static struct err *open_dwarf(const struct elf_image *image, struct elf_image **unpacked,
			      Dwarf **ret)
{
	struct err *err = debug_sections_open(image, unpacked);

	if (err)
		return err;

	Dwarf *dwarf =
		dwarf_begin_elf(*unpacked ? (*unpacked)->elf : image->elf, DWARF_C_READ, NULL);

	if (!dwarf)
		return err_create("%s: %s", image->path, dwarf_errmsg(-1));
	*ret = dwarf;
	return NULL;
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

	struct err *err =
		alternate ? open_dwarf(alternate, &info->alternate_unpacked, &info->alternate)
			  : check_alternate(image, info->directory);

	if (!err)
		err = open_dwarf(image, &info->unpacked, &info->dwarf);
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
	dwarf_end(info->dwarf);
	dwarf_end(info->alternate);
	elf_image_close(info->unpacked);
	elf_image_close(info->alternate_unpacked);
	free(info->directory);
	free(info);
}

struct err *debug_info_find(struct debug_info *info, uint64_t address, struct debug_frames *ret)
{
	struct debug_unit *unit;
	struct err *err = debug_index_find(&info->index, address, &unit);

	if (err || !unit)
		return err;
	return debug_unit_find(unit, info->directory, address, ret);
}
