#include "symbols/debug_split.h"

#include <dwarf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "symbols/debug_padding.h"

void debug_split_deinit(struct debug_split *split)
{
	free(split->directory);
	arena_deinit(&split->padded);
}

/* Whether something at path is not a regular file, so that opening it could block. */
static bool is_unsafe(const char *path)
{
	struct stat status;

	return !stat(path, &status) && !S_ISREG(status.st_mode);
}

static const char *own_string(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

/*
 * Checks one place where libdw looks: name relative to base, relative to directory. An absolute
 * part replaces what stands before it.
 */
static bool place_is_unsafe(const char *directory, const char *base, const char *name)
{
	char path[PATH_MAX];
	int size;

	if (name[0] == '/')
		size = snprintf(path, sizeof(path), "%s", name);
	else if (base && base[0] == '/')
		size = snprintf(path, sizeof(path), "%s/%s", base, name);
	else
		size = snprintf(path, sizeof(path), "%s/%s/%s", directory, base ? base : "", name);
	return size < 0 || (size_t)size >= sizeof(path) || is_unsafe(path);
}

struct err *debug_split_find(struct debug_split *split, Dwarf_Die *unit, Dwarf_Die *ret)
{
	const char *name = own_string(unit, DW_AT_dwo_name);
	struct debug_padding padding;
	uint8_t type;
	Dwarf_Die found;

	if (!name)
		name = own_string(unit, DW_AT_GNU_dwo_name);
	if (!name || place_is_unsafe(split->directory, NULL, name) ||
	    place_is_unsafe(split->directory, own_string(unit, DW_AT_comp_dir), name) ||
	    dwarf_cu_info(unit->cu, NULL, &type, NULL, &found, NULL, NULL, NULL) ||
	    type != DW_UT_skeleton || !found.addr)
		return NULL;

	// libdw has opened this file already, but read none of its strings yet: pad them now.
	Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(found.cu));
	struct err *err = debug_padding_add(elf, &split->padded, &padding);

	// Padding .debug_info came too late: libdw already points into the old copy, where a string
	// at the end may have no NUL.
	if (!err && !padding.units)
		*ret = found;
	return err;
}
