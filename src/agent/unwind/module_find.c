/*
 * Modules by address: from the loader's own lock-free index where there is one (glibc >= 2.35),
 * else from /proc/self/maps and the ELF header in memory. dl_iterate_phdr() is never called: it
 * takes the loader's lock, which the thread that waits for us may hold.
 */
#include "agent/unwind/module_find.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "agent/unwind/module_cache.h"
#include "agent/unwind/proc_maps.h"
#include "base/bytes.h"

#define PAGE UINT64_C(4096)

/* What _dl_find_object() fills in (glibc manual, "Dynamic Linker Introspection"). */
struct found_object {
	unsigned long long flags;
	void *map_start;
	void *map_end;
	struct link_map *link_map;
	void *eh_frame_hdr;
	unsigned long long reserved[7];
};

static int (*dl_find_object)(void *address, void *result);

void module_find_init(int (*function)(void *address, void *result))
{
	dl_find_object = function;
}

/* The program headers of an ELF image whose first page lies at start; NULL: none that we trust. */
static const ElfW(Phdr) * program_headers(uint64_t start, uint64_t end, unsigned *count)
{
	const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)start;
	uint64_t size;

	if (end - start < sizeof(*elf) || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_phentsize != sizeof(ElfW(Phdr)))
		return NULL;
	size = (uint64_t)elf->e_phnum * sizeof(ElfW(Phdr));
	if (elf->e_phoff > end - start || size > end - start - elf->e_phoff ||
	    elf->e_phoff % sizeof(uint64_t) != 0)
		return NULL;
	*count = elf->e_phnum;
	return (const ElfW(Phdr) *)(start + elf->e_phoff);
}

static bool find_by_loader(uint64_t address, struct module_place *ret)
{
	struct found_object object;

	if (dl_find_object((void *)address, &object) != 0)
		return false;
	*ret = (struct module_place){
		.start = (uint64_t)object.map_start,
		.end = (uint64_t)object.map_end,
		.first_end = (uint64_t)object.map_start + PAGE,
		.bias = object.link_map->l_addr,
		.eh_frame_hdr = (uint64_t)object.eh_frame_hdr,
		.link_map = object.link_map,
	};
	return true;
}

/* Fills in what the ELF header at place->start knows. False: there is none. */
static bool read_headers(struct module_place *place)
{
	unsigned count = 0;
	const ElfW(Phdr) *headers = program_headers(place->start, place->first_end, &count);
	bool have_bias = false;

	for (unsigned i = 0; headers && i < count; i++) {
		const ElfW(Phdr) *segment = &headers[i];

		if (segment->p_type != PT_LOAD)
			continue;
		if (!have_bias)
			place->bias = place->start - (segment->p_vaddr & ~(PAGE - 1));
		have_bias = true;
		place->end =
			bytes_round_up(place->bias + segment->p_vaddr + segment->p_memsz, PAGE);
	}
	for (unsigned i = 0; headers && i < count; i++) {
		if (headers[i].p_type == PT_GNU_EH_FRAME)
			place->eh_frame_hdr = place->bias + headers[i].p_vaddr;
	}
	return have_bias;
}

/*
 * The module begins at the mapping of offset 0 of the same file, the last one before the address:
 * one file's segments are mapped in order. The vdso is one mapping with no inode.
 */
static bool find_by_maps(uint64_t address, struct module_place *ret, char *path, size_t room)
{
	struct proc_mapping mapping = {0}, first = {0};
	struct proc_maps maps;
	bool found = false;

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
	// Only code is asked for; the header of what is no module may be no memory to read from.
	if (!found || !mapping.executable || first.start == 0 || first.inode != mapping.inode)
		return false;
	*ret = (struct module_place){.start = first.start, .first_end = first.end};
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
	ret->eh_frame_hdr = (const void *)place.eh_frame_hdr;
	ret->link_map = place.link_map;
	return true;
}

static bool segment_holds(const ElfW(Phdr) * segment, uint64_t bias, uint64_t address)
{
	return segment->p_type == PT_LOAD && segment->p_flags & PF_R &&
	       address - (bias + segment->p_vaddr) < segment->p_memsz;
}

/* Readable memory around the tables and around the address. */
static void limit_reads(const struct module_place *place, uint64_t address,
			struct module_tables *ret)
{
	unsigned count = 0;
	const ElfW(Phdr) *headers = program_headers(place->start, place->first_end, &count);

	for (unsigned i = 0; headers && i < count; i++) {
		const ElfW(Phdr) *segment = &headers[i];
		uint64_t start = place->bias + segment->p_vaddr;

		if (segment_holds(segment, place->bias, place->eh_frame_hdr))
			ret->image = (struct eh_image){.bytes = (const uint8_t *)start,
						       .size = segment->p_memsz,
						       .address = start};
		if (segment_holds(segment, place->bias, address))
			ret->text_end = start + segment->p_memsz;
	}
}

/* For a module that does not begin with its ELF header, as some packers make them. */
static void limit_reads_by_maps(const struct module_place *place, struct module_tables *ret)
{
	struct proc_mapping mapping;

	if (proc_maps_find(place->eh_frame_hdr, &mapping) && mapping.readable)
		ret->image = (struct eh_image){.bytes = (const uint8_t *)mapping.start,
					       .size = mapping.end - mapping.start,
					       .address = mapping.start};
}

/* find_by_maps() without the path, which is not kept. */
static bool find_cached(uint64_t address, struct module_place *ret)
{
	if (module_cache_find(address, ret))
		return true;
	if (!find_by_maps(address, ret, NULL, 0))
		return false;
	module_cache_insert(ret);
	return true;
}

bool module_find_tables(uint64_t address, struct module_tables *ret)
{
	struct module_place place;

	if (!(dl_find_object ? find_by_loader(address, &place) : find_cached(address, &place)))
		return false;
	*ret = (struct module_tables){.header = place.eh_frame_hdr};
	limit_reads(&place, address, ret);
	if (place.eh_frame_hdr != 0 && ret->image.size == 0)
		limit_reads_by_maps(&place, ret);
	return true;
}
