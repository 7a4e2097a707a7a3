#include "symbols/debug_split.h"

#include <dwarf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "symbols/debug_sections.h"
#include "symbols/symbol_log.h"

static void unit_deinit(struct debug_split_unit *unit)
{
	debug_join_close(&unit->join);
	elf_image_close(unit->unpacked);
	elf_image_close(unit->file);
}

void debug_split_deinit(struct debug_split *split)
{
	for (size_t i = 0; i < split->units.count; i++)
		unit_deinit(&split->units.items[i]);
	vec_deinit(&split->units);
	free(split->directory);
}

static const char *own_string(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

static uint64_t own_number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) ? 0 : value;
}

/* A section of the program, from a base on. */
static struct debug_bytes from_base(const struct elf_image *program, enum debug_piece piece,
				    uint64_t base)
{
	struct debug_bytes bytes = debug_join_section(program, piece, "");

	if (base > bytes.size)
		return (struct debug_bytes){0};
	return (struct debug_bytes){bytes.data + base, bytes.size - base};
}

static void add_own_pieces(Dwarf_Die *skeleton, struct debug_bytes pieces[DEBUG_PIECES])
{
	const struct elf_image program = {.elf = dwarf_getelf(dwarf_cu_getdwarf(skeleton->cu))};
	uint64_t addresses = own_number(skeleton, DW_AT_addr_base);

	if (!addresses)
		addresses = own_number(skeleton, DW_AT_GNU_addr_base);
	pieces[DEBUG_ADDR] = from_base(&program, DEBUG_ADDR, addresses);
	pieces[DEBUG_RANGES] =
		from_base(&program, DEBUG_RANGES, own_number(skeleton, DW_AT_GNU_ranges_base));
	if (!pieces[DEBUG_RNGLISTS].size)
		pieces[DEBUG_RNGLISTS] = from_base(&program, DEBUG_RNGLISTS, 0);
}

/* Sets *ret to the unit with that id in a joined file. false: it is not there. */
static bool find_unit(Dwarf *dwarf, uint64_t id, Dwarf_Die *ret)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Off last = 0;
	Dwarf_Die die;

	while (!dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL)) {
		uint64_t own;
		uint8_t type;

		// Offsets of units rise. In a damaged file they may not.
		if (last && dwarf_dieoffset(&die) <= last)
			return false;
		last = dwarf_dieoffset(&die);
		if (!dwarf_cu_info(cu, NULL, &type, NULL, NULL, &own, NULL, NULL) &&
		    type == DW_UT_split_compile && own == id) {
			*ret = die;
			return true;
		}
	}
	return false;
}

/* Joins the pieces, and keeps what was found. unit: of it all but the join; closed if it is not. */
static struct err *join_unit(struct debug_split *split, Dwarf_Die *skeleton, uint64_t id,
			     struct debug_bytes pieces[DEBUG_PIECES], struct debug_split_unit *unit,
			     Dwarf_Die *ret, bool *found)
{
	struct err *err = NULL;

	add_own_pieces(skeleton, pieces);
	if (pieces[DEBUG_INFO].size)
		err = debug_join_open(pieces, split->directory, &unit->join);
	if (!err && unit->join.dwarf && find_unit(unit->join.dwarf, id, ret)) {
		*found = vec_push(&split->units, *unit);
		if (*found)
			return NULL;
		err = err_no_memory();
	}
	unit_deinit(unit);
	return err;
}

static struct err *try_package(struct debug_split *split, Dwarf_Die *skeleton, uint64_t id,
			       Dwarf_Die *ret, bool *found)
{
	struct debug_bytes pieces[DEBUG_PIECES] = {0};
	struct debug_split_unit unit = {0};

	if (!split->package || !debug_join_package(split->package, id, pieces))
		return NULL;
	return join_unit(split, skeleton, id, pieces, &unit, ret, found);
}

static struct err *try_file(struct debug_split *split, Dwarf_Die *skeleton, uint64_t id,
			    const char *path, Dwarf_Die *ret, bool *found)
{
	struct debug_bytes pieces[DEBUG_PIECES] = {0};
	struct debug_split_unit unit = {0};
	const struct elf_image *image;
	struct err *err = elf_image_open(path, &unit.file);

	if (!err)
		err = debug_sections_open(unit.file, &unit.unpacked);
	if (err) {
		unit_deinit(&unit);
		if (err_is_shortage(err))
			return err;
		symbol_log_refusal(err);
		return NULL;
	}
	image = unit.unpacked ? unit.unpacked : unit.file;
	for (enum debug_piece i = 0; i < DEBUG_RANGES; i++)
		pieces[i] = debug_join_section(image, i, ".dwo");
	elf_image_let_go(unit.file);
	err = join_unit(split, skeleton, id, pieces, &unit, ret, found);
	if (!err && !*found)
		symbol_log("%s is of another build, or damaged: its unit is another", path);
	return err;
}

/*
 * Tries one place: name relative to base, relative to the program's directory. An absolute part
 * replaces what stands before it.
 */
static struct err *try_place(struct debug_split *split, Dwarf_Die *skeleton, uint64_t id,
			     const char *base, const char *name, Dwarf_Die *ret, bool *found)
{
	const char *directory = split->directory;
	char path[PATH_MAX];
	int size;

	if (name[0] == '/')
		size = snprintf(path, sizeof(path), "%s", name);
	else if (base && base[0] == '/')
		size = snprintf(path, sizeof(path), "%s/%s", base, name);
	else
		size = snprintf(path, sizeof(path), "%s/%s/%s", directory, base ? base : "", name);
	if (size < 0 || (size_t)size >= sizeof(path))
		return NULL;
	return try_file(split, skeleton, id, path, ret, found);
}

struct err *debug_split_find(struct debug_split *split, Dwarf_Die *unit, Dwarf_Die *ret)
{
	const char *name = own_string(unit, DW_AT_dwo_name), *base;
	bool found = false;
	struct err *err;
	uint8_t type;
	uint64_t id;

	if (!name)
		name = own_string(unit, DW_AT_GNU_dwo_name);
	if (!name || dwarf_cu_info(unit->cu, NULL, &type, NULL, NULL, &id, NULL, NULL) ||
	    type != DW_UT_skeleton)
		return NULL;
	base = own_string(unit, DW_AT_comp_dir);
	err = try_package(split, unit, id, ret, &found);
	if (!err && !found)
		err = try_place(split, unit, id, NULL, name, ret, &found);
	if (!err && !found && base && name[0] != '/')
		err = try_place(split, unit, id, base, name, ret, &found);
	if (!err && !found && !split->missing)
		split->missing = name;
	return err;
}
