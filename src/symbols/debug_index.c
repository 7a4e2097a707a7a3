#include "symbols/debug_index.h"

#include <string.h>

#include "hosted/cleanup.h"

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

struct err *debug_index_init(struct debug_index *index, Dwarf *dwarf, const struct elf_image *image)
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

void debug_index_deinit(struct debug_index *index)
{
	units_deinit(&index->listed);
	units_deinit(&index->all);
	debug_aranges_deinit(&index->aranges);
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

static struct debug_unit *find_listed(struct debug_index *index, uint64_t address)
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

static struct err *index_all(struct debug_index *index)
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

struct err *debug_index_find(struct debug_index *index, uint64_t address, struct debug_unit **ret)
{
	struct debug_unit *unit = find_listed(index, address);
	struct err *err = NULL;
	uint32_t number;

	if (!unit && !index->all_indexed) {
		err = index_all(index);
		index->all_indexed = !err;
	}
	if (err)
		return err;
	number = unit ? SPAN_NONE : span_map_find(&index->all.map, address);
	*ret = number == SPAN_NONE ? unit : &index->all.list.items[number];
	return NULL;
}
