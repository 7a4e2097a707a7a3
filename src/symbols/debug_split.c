#include "symbols/debug_split.h"

#include <dwarf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

bool debug_split_is_unsafe(const char *path)
{
	struct stat status;

	return !stat(path, &status) && !S_ISREG(status.st_mode);
}

static const char *own_string(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

/* One place where libdw looks: name below base, below directory; absolute parts win. */
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
	return size < 0 || (size_t)size >= sizeof(path) || debug_split_is_unsafe(path);
}

void debug_split_find(Dwarf_Die *unit, const char *directory, Dwarf_Die *ret)
{
	const char *name = own_string(unit, DW_AT_dwo_name);
	uint8_t type;
	Dwarf_Die split;

	if (!name)
		name = own_string(unit, DW_AT_GNU_dwo_name);
	if (!name || place_is_unsafe(directory, NULL, name) ||
	    place_is_unsafe(directory, own_string(unit, DW_AT_comp_dir), name))
		return;
	if (!dwarf_cu_info(unit->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) &&
	    type == DW_UT_skeleton && split.addr)
		*ret = split;
}
