#include "symbols/debug_split.h"

#include <dwarf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "symbols/debug_padding.h"
#include "symbols/debug_sections.h"
#include "symbols/symbol_log.h"

/*
 * A split unit of DWARF, joined with what its program has of it, as a file of its own. libdw 0.188
 * joins units with .dwo files itself, but knows no .dwp packages, reads none that is an object file
 * with all sections (-gsplit-dwarf=single), and opens whatever a skeleton names.
 *
 *	.debug_info       .debug_abbrev  .debug_str …    of the .dwo, or the unit's part of a .dwp
 *	.debug_addr       .debug_ranges                  of the program, from the unit's base on
 *
 * The bases are attributes of the skeleton. A section that begins at its base needs none.
 */
enum debug_piece {
	DEBUG_INFO,
	DEBUG_ABBREV,
	DEBUG_LINE,
	DEBUG_STR,
	DEBUG_STR_OFFSETS,
	DEBUG_RNGLISTS,
	DEBUG_RANGES,
	DEBUG_ADDR,
	DEBUG_PIECES,
};

/* Bytes of a section. Zeroed: there is none. */
struct debug_bytes {
	const uint8_t *data;
	size_t size;
};

static const char *const names[DEBUG_PIECES] = {
	[DEBUG_INFO] = ".debug_info",
	[DEBUG_ABBREV] = ".debug_abbrev",
	[DEBUG_LINE] = ".debug_line",
	[DEBUG_STR] = ".debug_str",
	[DEBUG_STR_OFFSETS] = ".debug_str_offsets",
	[DEBUG_RNGLISTS] = ".debug_rnglists",
	[DEBUG_RANGES] = ".debug_ranges",
	[DEBUG_ADDR] = ".debug_addr",
};

/*
 * The bytes of an image's section, decompressed; suffix: ".dwo" or "". Zeroed: none, or damaged.
 */
static struct debug_bytes section_bytes(const struct elf_image *image, enum debug_piece piece,
					const char *suffix)
{
	char name[64];
	GElf_Shdr header;
	Elf_Data *data;
	Elf_Scn *scn;

	snprintf(name, sizeof(name), "%s%s", names[piece], suffix);
	scn = elf_image_section(image, name);
	if (!scn || !gelf_getshdr(scn, &header) ||
	    (header.sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0))
		return (struct debug_bytes){0};
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf)
		return (struct debug_bytes){0};
	return (struct debug_bytes){data->d_buf, data->d_size};
}

/*
 * .debug_cu_index: a hash table of unit ids, and for each unit where its parts are.
 *
 *	version │ columns │ units │ slots │ ids of slots │ rows of slots │ kinds of columns │
 *	offsets of row 1 … │ sizes of row 1 …
 *
 * All are 4 bytes wide, the ids 8. Rows count from 1, 0 is an empty slot. The version of DWARF 4 is
 * 2.
 */
struct unit_index {
	struct debug_bytes bytes;
	uint32_t version, columns, units, slots;
};

static uint32_t index_number(const struct unit_index *index, uint64_t at)
{
	return bytes_u32(index->bytes.data + at);
}

/* Where what follows the hash table begins. */
static uint64_t index_columns(const struct unit_index *index)
{
	return 16 + (uint64_t)index->slots * 12;
}

static bool open_index(const struct elf_image *package, struct unit_index *ret)
{
	Elf_Data *data = elf_image_section_data(package, ".debug_cu_index");

	if (!data || data->d_size < 16)
		return false;
	ret->bytes = (struct debug_bytes){data->d_buf, data->d_size};
	ret->version = bytes_u16(data->d_buf);
	ret->columns = index_number(ret, 4);
	ret->units = index_number(ret, 8);
	ret->slots = index_number(ret, 12);
	return (ret->version == 2 || ret->version == 5) && ret->columns && ret->columns <= 16 &&
	       ret->slots && !(ret->slots & (ret->slots - 1)) &&
	       index_columns(ret) + (2 * (uint64_t)ret->units + 1) * ret->columns * 4 <=
		       data->d_size;
}

/* The row of a unit, from 0 on. UINT32_MAX: the package does not have it. */
static uint32_t find_row(const struct unit_index *index, uint64_t id)
{
	uint32_t mask = index->slots - 1, slot = (uint32_t)id & mask;
	uint32_t step = ((uint32_t)(id >> 32) & mask) | 1;

	for (uint32_t i = 0; i < index->slots; i++, slot = (slot + step) & mask) {
		uint32_t row =
			index_number(index, 16 + index->slots * UINT64_C(8) + slot * UINT64_C(4));

		if (!row || row > index->units)
			return UINT32_MAX;
		if (bytes_u64(index->bytes.data + 16 + slot * UINT64_C(8)) == id)
			return row - 1;
	}
	return UINT32_MAX;
}

/* The section of a column's kind. DEBUG_PIECES: one that is not read here. */
static enum debug_piece piece_of(const struct unit_index *index, uint32_t kind)
{
	switch (kind) {
	case 1:
		return DEBUG_INFO;
	case 3:
		return DEBUG_ABBREV;
	case 4:
		return DEBUG_LINE;
	case 6:
		return DEBUG_STR_OFFSETS;
	case 8:
		return index->version == 5 ? DEBUG_RNGLISTS : DEBUG_PIECES;
	default:
		return DEBUG_PIECES;
	}
}

/*
 * Finds the parts of the unit with that id in a .dwp package: those of all sections that it is made
 * of. false: it is not there.
 */
static bool find_in_package(const struct elf_image *package, uint64_t id,
			    struct debug_bytes pieces[DEBUG_PIECES])
{
	struct unit_index index;
	uint32_t row;

	if (!open_index(package, &index) || (row = find_row(&index, id)) == UINT32_MAX)
		return false;
	for (uint32_t column = 0; column < index.columns; column++) {
		uint64_t kinds = index_columns(&index), width = index.columns * UINT64_C(4);
		uint64_t at = kinds + width * (1 + row) + column * UINT64_C(4);
		uint32_t offset = index_number(&index, at);
		uint32_t size = index_number(&index, at + width * index.units);
		enum debug_piece piece =
			piece_of(&index, index_number(&index, kinds + column * UINT64_C(4)));
		struct debug_bytes whole;

		if (piece == DEBUG_PIECES || !size)
			continue;
		whole = section_bytes(package, piece, ".dwo");
		if (offset > whole.size || size > whole.size - offset)
			return false;
		pieces[piece] = (struct debug_bytes){whole.data + offset, size};
	}
	pieces[DEBUG_STR] = section_bytes(package, DEBUG_STR, ".dwo");
	return true;
}

/*
 * An ELF file with the names of the sections, and a byte of each: the bytes themselves are given to
 * libelf afterwards, so that nothing is copied.
 */
struct frame {
	Elf64_Ehdr header;
	Elf64_Shdr sections[DEBUG_PIECES + 2];
	char names[DEBUG_PIECES * 32];
};

static struct frame *make_frame(const struct debug_bytes pieces[DEBUG_PIECES])
{
	struct frame *frame = calloc(1, sizeof(*frame));
	unsigned count = 1;
	size_t at = 1;

	if (!frame)
		return NULL;
	for (unsigned i = 0; i < DEBUG_PIECES; i++) {
		if (!pieces[i].size)
			continue;
		frame->sections[count++] = (Elf64_Shdr){
			.sh_name = (Elf64_Word)at,
			.sh_type = SHT_PROGBITS,
			.sh_offset = offsetof(struct frame, names),
			.sh_size = 1,
			.sh_addralign = 1,
		};
		at += (size_t)snprintf(frame->names + at, sizeof(frame->names) - at, "%s",
				       names[i]) +
		      1;
	}
	frame->sections[count] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct frame, names),
		.sh_size = sizeof(frame->names),
		.sh_addralign = 1,
	};
	frame->header = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_version = EV_CURRENT,
		.e_shoff = offsetof(struct frame, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (Elf64_Half)(count + 1),
		.e_shstrndx = (Elf64_Half)count,
	};
	return frame;
}

/* Gives a section of the frame its bytes. */
static bool give(Elf_Scn *scn, const struct debug_bytes *bytes)
{
	// Some versions of libdw read the one, some the other.
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	Elf_Data *raw = data ? elf_rawdata(scn, NULL) : NULL;

	if (!raw)
		return false;
	data->d_buf = raw->d_buf = (void *)(uintptr_t)bytes->data; // neither writes to it
	data->d_size = raw->d_size = bytes->size;
	return true;
}

/*
 * Opens the joined file. What pieces point to must outlive *ret. *ret zeroed: it is damaged. path:
 * for messages. The only error: no memory.
 */
static struct err *open_joined(const struct debug_bytes pieces[DEBUG_PIECES], const char *path,
			       struct debug_join *ret)
{
	cleanup(elf_image_close_at) struct elf_image *image = NULL;
	struct frame *frame = make_frame(pieces);
	struct debug_padding padding;
	struct err *err;
	bool good = true;

	if (!frame)
		return err_no_memory();
	err = elf_image_open_memory(frame, sizeof(*frame), path, &image);
	if (err)
		return err;
	for (unsigned i = 0, section = 1; good && i < DEBUG_PIECES; i++)
		if (pieces[i].size)
			good = give(elf_getscn(image->elf, section++), &pieces[i]);
	if (!good)
		return err_no_memory();
	err = debug_padding_add(image->elf, &image->padded, &padding);
	if (err)
		return err;
	ret->dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
	if (ret->dwarf)
		ret->image = steal(&image);
	return NULL;
}

static void close_joined(struct debug_join *join)
{
	dwarf_end(join->dwarf);
	elf_image_close(join->image);
}

static void unit_deinit(struct debug_split_unit *unit)
{
	close_joined(&unit->join);
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
	struct debug_bytes bytes = section_bytes(program, piece, "");

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
		err = open_joined(pieces, split->directory, &unit->join);
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

	if (!split->package || !find_in_package(split->package, id, pieces))
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
		pieces[i] = section_bytes(image, i, ".dwo");
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
