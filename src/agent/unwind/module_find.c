/*
 * Modules by address: from the loader's own lock-free index where there is one (glibc >= 2.35),
 * else from /proc/self/maps and the ELF header in memory. dl_iterate_phdr() is never called: it
 * takes the loader's lock, which the thread that waits for us may hold.
 */
#include "agent/unwind/module_find.h"

#include <elf.h>
#include <link.h>
#include <string.h>

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

/* What both ways of finding a module yield. */
struct place {
	uint64_t start, end; /* of the whole module */
	uint64_t first_end;  /* start to here is readable and begins with the ELF header, if any */
	uint64_t bias;
	uint64_t eh_frame_hdr;
	const struct link_map *link_map;
};

static bool find_by_loader(uint64_t address, struct place *ret)
{
	struct found_object object;

	if (dl_find_object((void *)address, &object) != 0)
		return false;
	*ret = (struct place){
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
static bool read_headers(struct place *place)
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
static bool find_by_maps(uint64_t address, struct place *ret, char *path, size_t room)
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
	if (!found || first.start == 0 || first.inode != mapping.inode)
		return false;
	*ret = (struct place){.start = first.start, .first_end = first.end};
	return read_headers(ret) && address < ret->end;
}

bool unwind_module_at(uint64_t address, struct unwind_module *ret)
{
	struct place place;
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
static void limit_reads(const struct place *place, uint64_t address, struct module_tables *ret)
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

bool module_find_tables(uint64_t address, struct module_tables *ret)
{
	struct place place;
	bool found;

	if (dl_find_object)
		found = find_by_loader(address, &place);
	else
		found = find_by_maps(address, &place, NULL, 0);
	if (!found)
		return false;
	*ret = (struct module_tables){.header = place.eh_frame_hdr};
	limit_reads(&place, address, ret);
	return true;
}
