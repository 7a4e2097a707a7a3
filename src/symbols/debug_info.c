#include "symbols/debug_info.h"

#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "hosted/cleanup.h"
#include "symbols/debug_padding.h"
#include "symbols/debug_sections.h"
#include "symbols/debug_split.h"
#include "symbols/span_map.h"

#define VERSION      2
#define ADDRESS_SIZE 8
#define LONG_FORMAT  UINT32_MAX /* a size of 8 bytes follows, and offsets have 8 bytes */

/* The part of the section that is not read yet. */
struct cursor {
	const uint8_t *at;
	size_t left;
};

/* Steps over size bytes. false: fewer are left. */
static bool skip(struct cursor *cursor, size_t size)
{
	if (cursor->left < size)
		return false;
	cursor->at += size;
	cursor->left -= size;
	return true;
}

/* Reads a number of size bytes, 8 at most. false: fewer are left. */
static bool take_number(struct cursor *cursor, size_t size, uint64_t *ret)
{
	const uint8_t *from = cursor->at;

	*ret = 0;
	if (!skip(cursor, size))
		return false;
	memcpy(ret, from, size);
	return true;
}

/* Adds the ranges of one unit. Its list ends with a range of zeros. */
static struct err *read_ranges(struct cursor *set, uint32_t unit, struct span_ranges *ranges)
{
	uint64_t low, size;

	while (take_number(set, ADDRESS_SIZE, &low) && take_number(set, ADDRESS_SIZE, &size) &&
	       (low || size)) {
		struct err *err =
			low + size < low ? NULL : span_ranges_add(ranges, low, low + size, unit);

		if (err)
			return err;
	}
	return NULL;
}

/*
 * Steps over the next set of ranges, and returns its content in *ret: what follows the header,
 * aligned as ranges are. false: there is none.
 */
static bool take_set(struct cursor *cursor, struct cursor *ret, uint64_t *unit)
{
	const uint8_t *begin = cursor->at;
	uint64_t size, version, address_size, segment_size;
	size_t offset_size = 4, header;

	if (!take_number(cursor, 4, &size))
		return false;
	if (size == LONG_FORMAT) {
		offset_size = 8;
		if (!take_number(cursor, 8, &size))
			return false;
	}
	if (size > cursor->left)
		return false;
	*ret = (struct cursor){cursor->at, size};
	skip(cursor, size);
	if (!take_number(ret, 2, &version) || !take_number(ret, offset_size, unit) ||
	    !take_number(ret, 1, &address_size) || !take_number(ret, 1, &segment_size) ||
	    version != VERSION || address_size != ADDRESS_SIZE || segment_size)
		return false;
	header = (size_t)(ret->at - begin);
	return skip(ret, bytes_round_up(header, 2 * ADDRESS_SIZE) - header);
}

struct err *debug_aranges_read(const uint8_t *bytes, size_t size, struct debug_aranges *ret)
{
	struct cursor cursor = {bytes, size}, set;
	uint64_t unit;

	while (ret->units.count < SPAN_NONE && take_set(&cursor, &set, &unit)) {
		uint32_t index = (uint32_t)ret->units.count;

		if (!vec_push(&ret->units, unit))
			return err_no_memory();

		struct err *err = read_ranges(&set, index, &ret->ranges);

		if (err)
			return err;
	}
	return NULL;
}

void debug_aranges_deinit(struct debug_aranges *aranges)
{
	vec_deinit(&aranges->units);
	span_ranges_deinit(&aranges->ranges);
}

struct debug_units {
	VEC(struct debug_unit) list;
	struct span_map map; /* values: indices of the list */
};

/*
 * The unit that an address is in. .debug_aranges is asked first, which needs no look at units. If
 * the address is not there, the ranges of all units are read: clang and Rust write no
 * .debug_aranges. A zeroed one is empty.
 */
struct debug_index {
	Dwarf *dwarf;
	struct debug_units listed; /* by .debug_aranges; zeroed: not asked for yet */
	struct debug_aranges aranges;
	struct debug_units all; /* by their own ranges */
	bool all_indexed;
};

struct debug_info {
	const char *damage;
	struct debug_split split;
	struct elf_image *unpacked, *alternate_unpacked; /* NULL: libdw reads the file itself */
	Dwarf *dwarf;
	Dwarf *alternate;
	struct debug_index index;
	struct debug_names names;
};

static void units_deinit(struct debug_units *units)
{
	for (size_t i = 0; i < units->list.count; i++)
		debug_unit_deinit(&units->list.items[i]);
	vec_deinit(&units->list);
	span_map_deinit(&units->map);
}

/*
 * The section .debug_aranges. NULL: there is none, it is compressed, or the image is not a 64-bit
 * little-endian one.
 */
static Elf_Data *aranges_of(const struct elf_image *image)
{
	Elf_Scn *scn = elf_image_section(image, ".debug_aranges");
	GElf_Shdr section;

	if (!scn || !gelf_getshdr(scn, &section) || section.sh_flags & SHF_COMPRESSED ||
	    !elf_image_is_laid_out_as_here(image))
		return NULL;
	return elf_image_section_data(image, ".debug_aranges");
}

/* dwarf: the image's handle, which must outlive the index. */
static struct err *index_init(struct debug_index *index, Dwarf *dwarf,
			      const struct elf_image *image)
{
	struct debug_units *listed = &index->listed;
	Elf_Data *section = aranges_of(image);
	size_t count;

	index->dwarf = dwarf;
	if (!section)
		return NULL;

	struct err *err = debug_aranges_read(section->d_buf, section->d_size, &index->aranges);

	if (err)
		return err;
	count = index->aranges.units.count;
	if (!vec_reserve(&listed->list, count))
		return err_no_memory();
	if (count)
		memset(listed->list.items, 0, count * sizeof(*listed->list.items));
	listed->list.count = count;
	err = span_map_init(&listed->map, &index->aranges.ranges);
	span_ranges_deinit(&index->aranges.ranges);
	return err;
}

/* Makes *ret the unit at offset in .debug_info. false: no unit begins there, or it is damaged. */
static bool begin_unit(struct debug_index *index, uint64_t offset, struct debug_unit *ret)
{
	Dwarf_Off next;
	size_t header;
	Dwarf_Die die;

	if (dwarf_next_unit(index->dwarf, offset, &next, &header, NULL, NULL, NULL, NULL, NULL,
			    NULL) ||
	    !dwarf_offdie(index->dwarf, offset + header, &die))
		return false;
	debug_unit_init(ret, &die);
	return true;
}

static struct debug_unit *find_listed_unit(struct debug_index *index, uint64_t address)
{
	uint32_t number = span_map_find(&index->listed.map, address);
	struct debug_unit *unit;

	if (number == SPAN_NONE)
		return NULL;
	unit = &index->listed.list.items[number];
	if (!unit->line_die.addr && !begin_unit(index, index->aranges.units.items[number], unit))
		return NULL;
	return unit;
}

static struct err *index_all_units(struct debug_index *index)
{
	cleanup(span_ranges_deinit) struct span_ranges ranges = {0};
	struct debug_units *all = &index->all;
	Dwarf_CU *cu = NULL;
	Dwarf_Off last = 0;
	Dwarf_Die die;

	all->list.count = 0; // left by an attempt that ran out of memory
	// Split units are not asked for: libdw would open each .dwo file.
	while (!dwarf_get_units(index->dwarf, cu, &cu, NULL, NULL, &die, NULL)) {
		struct debug_unit unit;
		uint32_t number = (uint32_t)all->list.count;

		// Offsets of units rise. In a damaged file they may not, and this loop would not
		// end.
		if (number && dwarf_dieoffset(&die) <= last)
			break;
		last = dwarf_dieoffset(&die);
		debug_unit_init(&unit, &die);
		if (number >= SPAN_NONE || !vec_push(&all->list, unit))
			return err_no_memory();

		struct err *err = debug_unit_add_ranges(&die, 0, number, &ranges);

		if (err)
			return err;
	}
	return span_map_init(&all->map, &ranges);
}

/* *ret: the unit, which the index owns; NULL: no unit has the address. */
static struct err *find_unit(struct debug_index *index, uint64_t address, struct debug_unit **ret)
{
	struct debug_unit *unit = find_listed_unit(index, address);
	struct err *err = NULL;
	uint32_t number;

	if (!unit && !index->all_indexed) {
		err = index_all_units(index);
		index->all_indexed = !err;
	}
	if (err)
		return err;
	number = unit ? SPAN_NONE : span_map_find(&index->all.map, address);
	*ret = number == SPAN_NONE ? unit : &index->all.list.items[number];
	return NULL;
}

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
	err = index_init(&info->index, info->dwarf, info->unpacked ? info->unpacked : image);
	if (err)
		return err;
	*ret = steal(&info);
	return NULL;
}

void debug_info_destroy(struct debug_info *info)
{
	if (!info)
		return;
	units_deinit(&info->index.listed);
	units_deinit(&info->index.all);
	debug_aranges_deinit(&info->index.aranges);
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
	struct err *err = find_unit(&info->index, address, &unit);

	if (err || !unit)
		return err;
	return debug_unit_find(unit, &info->split, &info->names, address, ret);
}
