#include "agent/unwind/module_index.h"

#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/arch/syscall.h"
#include "agent/unwind/arch.h"
#include "agent/unwind/memory.h"
#include "agent/unwind/proc_maps.h"
#include "base/compiler.h"
#include "cfi/eh_frame.h"

#define INDEXES_MAX  32         /* at a time */
#define MADE_MAX     256        /* in all: their memory is not returned */
#define SECTIONS_MAX 512        /* of a file; linked ones have some 40 */
#define ENTRIES_MAX  (1u << 18) /* functions: 2 MiB of table */
#define PATH_ROOM    1024

static struct module_index *_Atomic indexes[INDEXES_MAX];
static atomic_uint made;

const struct module_index *module_index_find(uint64_t start)
{
	for (unsigned i = 0; i < INDEXES_MAX; i++) {
		const struct module_index *index =
			atomic_load_explicit(&indexes[i], memory_order_acquire);

		if (index && index->start == start)
			return index;
	}
	return NULL;
}

void module_index_forget(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < INDEXES_MAX; i++) {
		struct module_index *index =
			atomic_load_explicit(&indexes[i], memory_order_acquire);

		if (index && index->start >= start && index->start < end)
			atomic_compare_exchange_strong(&indexes[i], &index, NULL);
	}
}

/* Two threads may make the same index at once: then both stay, and either is right. */
static void publish_index(struct module_index *index)
{
	for (unsigned i = 0; i < INDEXES_MAX; i++) {
		struct module_index *none = NULL;

		if (atomic_compare_exchange_strong(&indexes[i], &none, index))
			return;
	}
}

static bool read_at(int fd, uint64_t offset, void *to, size_t size)
{
	return sys_pread(fd, to, size, offset) == (long)size;
}

/* Finds .eh_frame in the section headers of a file. */
static bool find_section(int fd, ElfW(Shdr) * ret)
{
	static const char wanted[] = ".eh_frame";
	char name[sizeof(wanted)];
	ElfW(Shdr) names;
	ElfW(Ehdr) elf;

	if (!read_at(fd, 0, &elf, sizeof(elf)) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf.e_ident[EI_CLASS] != ARCH_ELF_CLASS || elf.e_shentsize != sizeof(ElfW(Shdr)) ||
	    elf.e_shnum > SECTIONS_MAX || elf.e_shstrndx >= elf.e_shnum ||
	    !read_at(fd, elf.e_shoff + elf.e_shstrndx * sizeof(names), &names, sizeof(names)))
		return false;
	for (unsigned i = 0; i < elf.e_shnum; i++) {
		if (!read_at(fd, elf.e_shoff + i * sizeof(*ret), ret, sizeof(*ret)))
			return false;
		if (ret->sh_type != SHT_NOBITS && ret->sh_flags & SHF_ALLOC &&
		    read_at(fd, names.sh_offset + ret->sh_name, name, sizeof(name)) &&
		    memcmp(name, wanted, sizeof(name)) == 0)
			return true;
	}
	return false;
}

/* Opens the file that is mapped at an address, if it is still there under its name. */
static int open_mapped(uint64_t address, bool *possible)
{
	struct proc_mapping mapping = {0};
	struct proc_maps maps;
	struct kernel_stat status;
	char path[PATH_ROOM] = "";
	int fd;

	*possible = proc_maps_open(&maps);
	if (!*possible)
		return -1;
	while (proc_maps_next(&maps, &mapping) && mapping.start <= address) {
		if (address < mapping.end)
			proc_maps_path(&maps, path, sizeof(path));
	}
	proc_maps_close(&maps);
	fd = path[0] == '/' ? sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0) : -1;
	if (fd >= 0 && (sys_fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
		sys_close(fd);
		return -1;
	}
	return fd;
}

/* The section in memory: within a segment that can be read. size 0: it is not. */
static struct eh_image mapped_section(const struct module_place *place, const ElfW(Shdr) * section)
{
	for (unsigned i = 0; i < place->header_count; i++) {
		const ElfW(Phdr) *segment = &place->headers[i];
		uint64_t offset = section->sh_addr - segment->p_vaddr;

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_R &&
		    offset < segment->p_filesz && section->sh_size <= segment->p_filesz - offset)
			return (struct eh_image){
				.bytes = (const uint8_t *)(uintptr_t)(place->bias +
								      section->sh_addr),
				.size = section->sh_size,
				.address = place->bias + section->sh_addr,
			};
	}
	return (struct eh_image){0};
}

/* Whether the code that an FDE is about can be its module's. */
static bool is_of(const struct module_place *place, const struct eh_place *found)
{
	return found->size && found->start >= place->start && found->start < place->end;
}

/* Fills in the entries, if they are not NULL. Returns how many there are. */
static uint64_t walk_section(const struct module_place *place, const struct eh_image *image,
			     uint64_t *entries)
{
	struct eh_cursor cursor = eh_entry_at(image, image->address);
	struct eh_place found;
	struct eh_walk walk;
	uint64_t count = 0;

	eh_walk_begin(&walk, image, EH_FORMAT_EH_FRAME, ARCH_DWARF_FP);
	while (count < ENTRIES_MAX && eh_walk_next(&walk, &cursor, &found)) {
		int64_t from = (int64_t)(found.start - image->address);
		int64_t entry = (int64_t)(found.entry - image->address);

		if (!is_of(place, &found) || from != (int32_t)from || entry != (int32_t)entry)
			continue;
		if (entries)
			entries[count] = (uint64_t)entry << 32 | (uint32_t)from;
		count++;
	}
	return count;
}

/* Shell's sort: no recursion, no memory, and quick for what is nearly sorted, as linkers have it.
 */
static void sort_entries(uint64_t *entries, uint64_t count)
{
	for (uint64_t gap = count / 2; gap > 0; gap /= 2) {
		for (uint64_t i = gap; i < count; i++) {
			uint64_t entry = entries[i], at = i;

			while (at >= gap && (int32_t)entries[at - gap] > (int32_t)entry) {
				entries[at] = entries[at - gap];
				at -= gap;
			}
			entries[at] = entry;
		}
	}
}

static void fill_index(struct module_index *index, const struct module_place *place,
		       const struct eh_image *image)
{
	uint64_t count = walk_section(place, image, NULL);
	uint64_t *entries = count ? unwind_allocate(count * sizeof(*entries)) : NULL;

	if (!entries)
		return;
	count = walk_section(place, image, entries);
	sort_entries(entries, count);
	index->image = *image;
	index->table = (struct eh_frame_table){
		.entries = (const uint8_t *)entries,
		.count = count,
		.header = image->address,
		.frames = image->address,
	};
}

void module_index_make(const struct module_place *place)
{
	struct module_index *index;
	ElfW(Shdr) section;
	bool possible;
	int fd;

	if (atomic_load(&made) >= MADE_MAX)
		return;
	fd = open_mapped(place->start, &possible);
	if (!possible)
		return;
	atomic_fetch_add(&made, 1);
	index = unwind_allocate(sizeof(*index));
	if (index) {
		index->start = place->start;
		if (fd >= 0 && find_section(fd, &section)) {
			struct eh_image image = mapped_section(place, &section);

			if (image.size)
				fill_index(index, place, &image);
		}
		publish_index(index);
	}
	if (fd >= 0)
		sys_close(fd);
}
