/*
 * Modules by address: from the loader's own lock-free index (glibc >= 2.35), else from
 * /proc/self/maps and the ELF header in memory. dl_iterate_phdr() is never called: it takes the
 * loader's lock, which another thread may hold that waits for this one.
 */
#include "agent/unwind/module_find.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent/arch/machine.h"
#include "agent/unwind/module_cache.h"
#include "agent/unwind/proc_maps.h"
#include "base/bytes.h"
#include "cfi/abi.h"

#define HEADERS 4096 /* at least so much can be read at the start of a module */

/* What _dl_find_object() fills in (glibc manual, "Dynamic Linker Introspection"). */
struct found_object {
	unsigned long long flags;
	void *map_start;
	void *map_end;
	struct link_map *link_map;
	void *eh_frame_hdr;
	unsigned long long reserved[8]; /* on some machines one more */
};

static int (*dl_find_object)(void *address, void *result);

/*
 * The program itself; all zero if the kernel did not describe it. Only the program may have holes
 * between its segments, with other modules in them: loaders map a library as one piece. Its headers
 * come from the kernel, since _dl_find_object() knows only the segment that holds the address.
 */
static struct module_place program;

// Weak, like every import of the agent. Without it only the parts of a program with holes are
// found.
extern unsigned long getauxval(unsigned long type) __attribute__((weak));

static bool segment_holds(const ElfW(Phdr) * segment, uint64_t bias, uint64_t address)
{
	return segment->p_type == PT_LOAD && address - (bias + segment->p_vaddr) < segment->p_memsz;
}

/* The PT_LOAD that holds the address; NULL: none, or the headers are not known. */
static const ElfW(Phdr) * find_segment(const struct module_place *place, uint64_t address)
{
	for (unsigned i = 0; i < place->header_count; i++) {
		if (segment_holds(&place->headers[i], place->bias, address))
			return &place->headers[i];
	}
	return NULL;
}

/* As loaders do it: a program without PT_PHDR was not moved. */
static void find_program(void)
{
	struct module_place place = {.start = UINT64_MAX};

	program = (struct module_place){0};
	if (!getauxval || getauxval(AT_PHENT) != sizeof(ElfW(Phdr)))
		return;
	place.headers = (const void *)getauxval(AT_PHDR);
	place.header_count = place.headers ? (unsigned)getauxval(AT_PHNUM) : 0;
	for (unsigned i = 0; i < place.header_count; i++) {
		if (place.headers[i].p_type == PT_PHDR)
			place.bias = (uintptr_t)place.headers - place.headers[i].p_vaddr;
	}
	for (unsigned i = 0; i < place.header_count; i++) {
		const ElfW(Phdr) *segment = &place.headers[i];
		uint64_t start = place.bias + segment->p_vaddr;

		if (segment->p_type == ARCH_TABLES_SEGMENT)
			place.eh_frame_hdr = start;
		if (segment->p_type != PT_LOAD)
			continue;
		if (place.start > (start & -arch_page()))
			place.start = start & -arch_page();
		if (place.end < start + segment->p_memsz)
			place.end = start + segment->p_memsz;
	}
	if (find_segment(&place, (uintptr_t)place.headers))
		program = place;
}

void module_find_init(int (*function)(void *address, void *result))
{
	dl_find_object = function;
	find_program();
}

/*
 * The program headers of a module that begins with its ELF header. Memory can be read up to `end`;
 * headers that lie beyond, or look wrong, are not used.
 */
static void find_headers(struct module_place *place, uint64_t end)
{
	const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)(uintptr_t)place->start;
	uint64_t size, room = end - place->start;

	if (room < sizeof(*elf) || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf->e_ident[EI_CLASS] != ARCH_ELF_CLASS || elf->e_phentsize != sizeof(ElfW(Phdr)))
		return;
	size = (uint64_t)elf->e_phnum * sizeof(ElfW(Phdr));
	if (elf->e_phoff > room || size > room - elf->e_phoff ||
	    elf->e_phoff % sizeof(ElfW(Addr)) != 0)
		return;
	place->headers = (const void *)(uintptr_t)(place->start + elf->e_phoff);
	place->header_count = elf->e_phnum;
}

static bool find_by_loader(uint64_t address, struct module_place *ret)
{
	struct found_object object;

	if (dl_find_object((void *)(uintptr_t)address, &object) != 0)
		return false;
	if (find_segment(&program, address) && program.bias == object.link_map->l_addr) {
		*ret = program;
		ret->link_map = object.link_map;
		return true;
	}
	*ret = (struct module_place){
		.start = (uintptr_t)object.map_start,
		.end = (uintptr_t)object.map_end,
		.bias = object.link_map->l_addr,
		.eh_frame_hdr = (uintptr_t)object.eh_frame_hdr,
		.link_map = object.link_map,
	};
	find_headers(ret, ret->start + HEADERS);
	return true;
}

/* Fills in what the program headers say. false: there is no PT_LOAD. */
static bool read_headers(struct module_place *place)
{
	bool have_bias = false;

	for (unsigned i = 0; i < place->header_count; i++) {
		const ElfW(Phdr) *segment = &place->headers[i];

		if (segment->p_type != PT_LOAD)
			continue;
		if (!have_bias)
			place->bias = place->start - (segment->p_vaddr & -arch_page());
		have_bias = true;
		place->end = bytes_round_up(place->bias + segment->p_vaddr + segment->p_memsz,
					    arch_page());
	}
	for (unsigned i = 0; i < place->header_count; i++) {
		if (place->headers[i].p_type == ARCH_TABLES_SEGMENT)
			place->eh_frame_hdr = place->bias + place->headers[i].p_vaddr;
	}
	return have_bias;
}

/*
 * Finds the module in /proc/self/maps. It begins at the mapping of offset 0 of the same file, the
 * last such one before the address: a file's segments are mapped in order. The vDSO is one mapping
 * with inode 0.
 */
static bool find_by_maps(uint64_t address, struct module_place *ret, char *path, size_t room)
{
	struct proc_mapping mapping = {0}, first = {0};
	struct proc_maps maps;
	bool found = false;

	if (find_segment(&program, address)) {
		*ret = program;
		if (room > 0)
			path[0] = 0;
		return true;
	}
	if (!proc_maps_open(&maps))
		return false;
	while (!found && proc_maps_next(&maps, &mapping) && mapping.start <= address) {
		if (mapping.offset == 0 && mapping.readable) {
			first = mapping;
			proc_maps_path(&maps, path, room);
		}
		found = address < mapping.end;
	}
	proc_maps_close(&maps);
	// Only code is looked for: what else is mapped may not be readable as a header.
	if (!found || !mapping.executable || first.start == 0 || first.inode != mapping.inode)
		return false;
	*ret = (struct module_place){.start = first.start};
	find_headers(ret, first.end);
	return read_headers(ret) && address < ret->end;
}

bool unwind_module_at(uint64_t address, struct unwind_module *ret)
{
	struct module_place place;
	bool found;

	if (dl_find_object)
		found = find_by_loader(address, &place);
	else
		found = find_by_maps(address, &place, ret->path_text, sizeof(ret->path_text));
	if (!found)
		return false;
	ret->start = place.start;
	ret->end = place.end;
	ret->bias = place.bias;
	ret->path = place.link_map ? place.link_map->l_name : ret->path_text;
	ret->eh_frame_hdr = (const void *)(uintptr_t)place.eh_frame_hdr;
	ret->link_map = place.link_map;
	return true;
}

/* Where the program's own headers are, its ELF header need not be: the kernel says it. */
static uint64_t entry_of(const struct module_place *place)
{
	const ElfW(Ehdr) *header = (const void *)(uintptr_t)place->start;

	if (place->headers && place->headers != program.headers)
		return place->bias + header->e_entry;
	return getauxval ? getauxval(AT_ENTRY) : 0;
}

/* Finds out how much memory around the tables and around the address can be read. */
static void limit_reads(const struct module_place *place, uint64_t address,
			struct module_tables *ret)
{
	const ElfW(Phdr) *tables = find_segment(place, place->eh_frame_hdr);
	const ElfW(Phdr) *text = find_segment(place, address);

	if (place->eh_frame_hdr != 0 && tables && tables->p_flags & PF_R)
		ret->image = (struct eh_image){
			.bytes = (const uint8_t *)(uintptr_t)(place->bias + tables->p_vaddr),
			.size = tables->p_memsz,
			.address = place->bias + tables->p_vaddr,
		};
	for (unsigned i = 0; i < place->header_count; i++) {
		if (place->headers[i].p_type == ARCH_TABLES_SEGMENT)
			ret->header_size = place->headers[i].p_memsz;
	}
	if (text && text->p_flags & PF_R)
		ret->text_end = place->bias + text->p_vaddr + text->p_memsz;
	ret->entry = arch_strip(entry_of(place));
}

/* For a library that does not begin with its headers, as patchelf and some packers make them. */
static void limit_reads_by_maps(const struct module_place *place, struct module_tables *ret)
{
	struct proc_mapping mapping;

	if (proc_maps_find(place->eh_frame_hdr, &mapping) && mapping.readable)
		ret->image = (struct eh_image){.bytes = (const uint8_t *)(uintptr_t)mapping.start,
					       .size = mapping.end - mapping.start,
					       .address = mapping.start};
}

/* find_by_maps() with a cache, and without the path. */
static bool find_cached(uint64_t address, struct module_place *ret)
{
	if (module_cache_find(address, ret))
		return true;
	if (!find_by_maps(address, ret, NULL, 0))
		return false;
	// The program is not cached: it is found fast anyway, and other modules may lie in its
	// holes.
	if (ret->headers != program.headers)
		module_cache_insert(ret);
	return true;
}

static bool find_place(uint64_t address, struct module_place *ret)
{
	if (!(dl_find_object ? find_by_loader(address, ret) : find_cached(address, ret)))
		return false;
	// MIPS's vDSO names a segment of tables that is empty and lies at 0.
	if (ret->eh_frame_hdr == ret->start)
		ret->eh_frame_hdr = 0;
	return true;
}

bool module_find_text(uint64_t address, struct module_text *ret)
{
	struct module_place place;
	const ElfW(Phdr) * segment;

	if (!find_place(address, &place))
		return false;
	segment = find_segment(&place, address);
	if (!segment || (segment->p_flags & (PF_R | PF_X)) != (PF_R | PF_X))
		return false;
	*ret = (struct module_text){
		.start = place.bias + segment->p_vaddr,
		.end = place.bias + segment->p_vaddr + segment->p_memsz,
		.bias = place.bias,
		.entry = entry_of(&place),
	};
	for (unsigned i = 0; i < place.header_count; i++) {
		if (place.headers[i].p_type == PT_DYNAMIC)
			ret->dynamic = place.bias + place.headers[i].p_vaddr;
	}
	return true;
}

bool module_find_code(uint64_t address, uint64_t *start)
{
	struct module_text text;

	if (!module_find_text(address, &text))
		return false;
	*start = text.start;
	return true;
}

bool module_find_tables(uint64_t address, bool may_make, struct module_tables *ret)
{
	struct module_place place;

	if (!find_place(address, &place))
		return false;
	*ret = (struct module_tables){.header = place.eh_frame_hdr};
	limit_reads(&place, address, ret);
	if (place.eh_frame_hdr != 0 && ret->image.size == 0)
		limit_reads_by_maps(&place, ret);
	if (ARCH_TABLES_SEGMENT == PT_GNU_EH_FRAME && place.eh_frame_hdr == 0 && place.headers) {
		ret->index = module_index_find(place.start);
		if (!ret->index && may_make) {
			module_index_make(&place);
			ret->index = module_index_find(place.start);
		}
	}
	if (ret->index)
		ret->image = ret->index->image;
	return true;
}
