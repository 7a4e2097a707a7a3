#include "symbols/debug_sections.h"

#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "hosted/inflate.h"
#include "hosted/pages.h"

/* DWARF deflates to a third or so; what claims to grow this much is there to exhaust memory. */
#define GROWTH_MAX 256

/* Sections of an image, more than there are kinds of them. */
#define PARTS_MAX 32
#define ALIGNMENT 64

/* A section of the image that is being made. */
struct part {
	Elf64_Shdr from; /* in the file, compressed if its flags say so */
	Elf64_Shdr to;
	struct debug_section *lazy; /* NULL: all of it is needed */
};

struct making {
	const struct elf_image *image;
	struct debug_sections made;
	struct part parts[PARTS_MAX]; /* the first one is none, as in any table of sections */
	unsigned count;
	unsigned names; /* which of them has the names */
	uint64_t size;  /* of the image, as far as it is planned */
	uint64_t file_size;
};

/* What no look-up here reads: of the C library's debug file these are a fifth. */
static bool is_unread(const char *name)
{
	static const char *const unread[] = {".debug_loc", ".debug_loclists", ".debug_macinfo",
					     ".debug_macro", ".debug_frame"};

	for (size_t i = 0; i < ARRAY_COUNT(unread); i++)
		if (strcmp(name, unread[i]) == 0)
			return true;
	return false;
}

/* libdw reads all sections that it knows by name: those that nobody looks at are hidden. */
static void hide_unread(const struct elf_image *image)
{
	GElf_Shdr section;
	size_t names;

	if (elf_getshdrstrndx(image->elf, &names))
		return;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
		const char *name;

		if (!gelf_getshdr(scn, &section))
			continue;
		name = elf_strptr(image->elf, names, section.sh_name);
		if (!name || !is_unread(name))
			continue;
		section.sh_type = SHT_NOBITS; // in memory only: the file is open for reading
		gelf_update_shdr(scn, &section);
	}
}

static struct err *impossible_size(const struct elf_image *image, const GElf_Shdr *section)
{
	return err_create("%s: the compressed section at offset %#llx claims an impossible size",
			  image->path, (unsigned long long)section->sh_offset);
}

/* Checks what libdw would believe: the sizes of compressed sections. */
static struct err *check_sizes(const struct elf_image *image)
{
	GElf_Shdr section;
	GElf_Chdr compressed;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
		if (!gelf_getshdr(scn, &section) || section.sh_type == SHT_NOBITS ||
		    !(section.sh_flags & SHF_COMPRESSED))
			continue;
		if (!gelf_getchdr(scn, &compressed) ||
		    compressed.ch_size / GROWTH_MAX > section.sh_size)
			return impossible_size(image, &section);
	}
	return NULL;
}

static bool is_laid_out_as_here(const struct elf_image *image)
{
	size_t size;
	const char *identity = elf_getident(image->elf, &size);

	return identity && size >= EI_NIDENT && identity[EI_CLASS] == ELFCLASS64 &&
	       identity[EI_DATA] == ELFDATA2LSB;
}

static struct err *leave_to_libdw(const struct elf_image *image, struct debug_sections *ret)
{
	Elf_Scn *scn = elf_image_section(image, ".debug_aranges");
	GElf_Shdr section;
	Elf_Data *data;

	hide_unread(image);
	*ret = (struct debug_sections){0};
	if (scn && gelf_getshdr(scn, &section) && !(section.sh_flags & SHF_COMPRESSED) &&
	    is_laid_out_as_here(image) && (data = elf_rawdata(scn, NULL)) && data->d_buf) {
		ret->aranges.bytes = data->d_buf;
		ret->aranges.size = data->d_size;
	}
	return check_sizes(image);
}

/*
 * An image is made of files whose .debug_info is compressed, are laid out as this machine's are,
 * and do not make libdw look for others beside them, as split DWARF does.
 */
static bool can_be_made(const struct elf_image *image)
{
	Elf_Scn *info = elf_image_section(image, ".debug_info");
	GElf_Shdr section;

	return info && image->fd >= 0 && gelf_getshdr(info, &section) &&
	       section.sh_flags & SHF_COMPRESSED && is_laid_out_as_here(image) &&
	       !elf_image_section(image, ".debug_addr");
}

/* The header of a compressed section. false: it is compressed otherwise, or not all there. */
static bool read_packed(const struct making *making, const GElf_Shdr *section, Elf64_Chdr *ret)
{
	return section->sh_size > sizeof(*ret) &&
	       pread(making->image->fd, ret, sizeof(*ret), (off_t)section->sh_offset) ==
		       sizeof(*ret) &&
	       ret->ch_type == ELFCOMPRESS_ZLIB;
}

/*
 * Adds a section to the plan, but not one that the file does not have all of. *ret false: an image
 * cannot be made.
 */
static struct err *plan_section(struct making *making, const GElf_Shdr *section, bool *ret)
{
	struct part part = {.from = *section, .to = *section};
	Elf64_Chdr packed;

	if (section->sh_offset > making->file_size ||
	    section->sh_size > making->file_size - section->sh_offset)
		return NULL;
	if (section->sh_flags & SHF_COMPRESSED) {
		if (!read_packed(making, section, &packed)) {
			*ret = false;
			return NULL;
		}
		if (packed.ch_size / GROWTH_MAX > section->sh_size)
			return impossible_size(making->image, section);
		part.to.sh_size = packed.ch_size;
		part.to.sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
	}
	*ret = making->count < PARTS_MAX;
	if (!*ret)
		return NULL;
	part.to.sh_addralign = 1;
	part.to.sh_offset = making->size;
	making->size =
		bytes_round_up(making->size + part.to.sh_size + INFLATE_OUT_PADDING, ALIGNMENT);
	making->parts[making->count++] = part;
	return NULL;
}

/* Where what is there of a section is noted; NULL: all is, or nobody asks. */
static struct debug_section *lazy_section(struct debug_sections *sections, const char *name)
{
	if (strcmp(name, ".debug_info") == 0)
		return &sections->info;
	if (strcmp(name, ".debug_line") == 0)
		return &sections->line;
	return strcmp(name, ".debug_aranges") == 0 ? &sections->aranges : NULL;
}

static bool is_wanted(const GElf_Shdr *section, const char *name)
{
	return section->sh_type != SHT_NOBITS && strncmp(name, ".debug_", 7) == 0 &&
	       !is_unread(name);
}

/* Adds a section of the file to the plan, if it is wanted. *ret false: an image cannot be made. */
static struct err *plan_named(struct making *making, const GElf_Shdr *section, const char *name,
			      bool *ret)
{
	struct debug_section *lazy = lazy_section(&making->made, name);
	unsigned count;
	struct err *err;

	// Of two with one name libdw takes the first.
	for (unsigned i = 1; lazy && i < making->count; i++)
		if (making->parts[i].lazy == lazy)
			return NULL;
	if (!is_wanted(section, name))
		return NULL;
	count = making->count;
	err = plan_section(making, section, ret);
	if (making->count > count)
		making->parts[count].lazy = lazy;
	return err;
}

static struct err *plan(struct making *making, bool *ret)
{
	const struct elf_image *image = making->image;
	struct err *err = NULL;
	struct stat status;
	size_t names;

	*ret = can_be_made(image) && !elf_getshdrstrndx(image->elf, &names) &&
	       !fstat(image->fd, &status);
	making->file_size = *ret ? (uint64_t)status.st_size : 0;
	making->count = 1;
	making->size = sizeof(Elf64_Ehdr);
	for (Elf_Scn *scn = NULL; !err && *ret && (scn = elf_nextscn(image->elf, scn));) {
		GElf_Shdr section;
		const char *name;

		if (!gelf_getshdr(scn, &section))
			continue;
		name = elf_strptr(image->elf, names, section.sh_name);
		if (elf_ndxscn(scn) == names) {
			making->names = making->count;
			err = plan_section(making, &section, ret);
		} else if (name) {
			err = plan_named(making, &section, name, ret);
		}
	}
	return err;
}

/* Begins to decompress a section to its place. *ret->size 0: it cannot be read. */
static struct err *begin_section(const struct making *making, const struct part *part, uint8_t *to,
				 struct debug_section *ret)
{
	uint64_t size = part->from.sh_size - sizeof(Elf64_Chdr);
	off_t at = (off_t)(part->from.sh_offset + sizeof(Elf64_Chdr));

	*ret = (struct debug_section){.bytes = to, .size = part->to.sh_size};
	ret->packed_size = size + INFLATE_IN_PADDING;
	ret->packed = pages_alloc(ret->packed_size); // zeroed
	ret->inflate = malloc(sizeof(*ret->inflate));
	if (!ret->packed || !ret->inflate)
		return err_no_memory();
	if (pread(making->image->fd, ret->packed, size, at) != (ssize_t)size ||
	    !inflate_begin(ret->inflate, ret->packed, size, to, ret->size))
		ret->size = 0;
	return NULL;
}

static void close_section(struct debug_section *section)
{
	free(section->inflate);
	pages_free(section->packed, section->packed_size);
	*section = (struct debug_section){.bytes = section->bytes, .size = section->size};
}

bool debug_section_all(struct debug_section *section)
{
	bool good = !section->inflate || inflate_until(section->inflate, section->size);

	if (good)
		close_section(section);
	return good;
}

/* As far as there is something. */
static bool until(struct debug_section *section, uint64_t end)
{
	return inflate_until(section->inflate, end < section->size ? end : section->size);
}

bool debug_section_unit(struct debug_section *section, uint64_t offset)
{
	uint64_t begin = offset + sizeof(uint32_t), size;

	if (!section->inflate)
		return true;
	if (offset > section->size || section->size - offset < 12 || !until(section, offset + 12))
		return false;
	size = bytes_u32(section->bytes + offset);
	if (size == UINT32_MAX) {
		size = bytes_u64(section->bytes + begin);
		begin += sizeof(uint64_t);
	}
	return size <= section->size - begin && until(section, begin + size);
}

static bool read_plain(const struct making *making, const struct part *part, uint8_t *to)
{
	return pread(making->image->fd, to, part->from.sh_size, (off_t)part->from.sh_offset) ==
	       (ssize_t)part->from.sh_size;
}

/* Reads a section to its place, or makes ready what will. */
static struct err *fill_part(struct making *making, struct part *part)
{
	uint8_t *to = making->made.memory + part->to.sh_offset;
	struct debug_section whole = {0}, *section = part->lazy ? part->lazy : &whole;
	struct err *err;
	bool good;

	if (!(part->from.sh_flags & SHF_COMPRESSED)) {
		good = read_plain(making, part, to);
		*section = (struct debug_section){.bytes = to, .size = good ? part->to.sh_size : 0};
	} else {
		err = begin_section(making, part, to, section);
		good = !err && section->size && (part->lazy || debug_section_all(section));
		if (err || !good)
			close_section(section);
		if (err)
			return err;
	}
	// As libdw does with what it cannot read: it is not there.
	if (!good)
		part->to.sh_type = SHT_NOBITS;
	return NULL;
}

/* Behind the parts. */
static void put_headers(const struct making *making)
{
	uint8_t *memory = making->made.memory, *table = memory + making->size;
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_version = EV_CURRENT,
		.e_shoff = making->size,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (Elf64_Half)making->count,
		.e_shstrndx = (Elf64_Half)making->names,
	};
	GElf_Ehdr of_file;

	if (gelf_getehdr(making->image->elf, &of_file))
		header.e_machine = of_file.e_machine;
	memcpy(memory, &header, sizeof(header));
	for (unsigned i = 0; i < making->count; i++)
		memcpy(table + i * sizeof(Elf64_Shdr), &making->parts[i].to, sizeof(Elf64_Shdr));
}

static struct err *make(struct making *making)
{
	struct debug_sections *made = &making->made;
	struct err *err = NULL;

	made->size = making->size + making->count * sizeof(Elf64_Shdr);
	made->memory = pages_alloc(made->size);
	if (!made->memory)
		return err_create("%s: no memory for its sections", making->image->path);
	for (unsigned i = 1; !err && i < making->count; i++)
		err = fill_part(making, &making->parts[i]);
	if (err)
		return err;
	put_headers(making);
	made->elf = elf_memory((char *)made->memory, made->size);
	return made->elf ? NULL : err_create("%s: %s", making->image->path, elf_errmsg(-1));
}

struct err *debug_sections_open(const struct elf_image *image, struct debug_sections *ret)
{
	struct making making = {.image = image};
	bool possible = false;
	struct err *err = plan(&making, &possible);

	if (!err && !possible)
		return leave_to_libdw(image, ret);
	if (!err)
		err = make(&making);
	if (err)
		debug_sections_close(&making.made);
	else
		*ret = making.made;
	return err;
}

void debug_sections_close(struct debug_sections *sections)
{
	elf_end(sections->elf);
	close_section(&sections->info);
	close_section(&sections->line);
	close_section(&sections->aranges);
	pages_free(sections->memory, sections->size);
	*sections = (struct debug_sections){0};
}
