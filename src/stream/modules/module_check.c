#include "stream/modules/module_check.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "symbols/elf_image.h"

/* Names of sections take so many bytes at most. Those of a program take some hundreds. */
#define SECTION_NAMES_MAX (16u << 20)
/*
 * Decompressed sections may be so many times as large as the whole file, and a bit. Debug
 * information becomes 3 to 6 times as large. zlib could make it 1032 times.
 */
#define GROWTH_MAX        16u
#define GROWTH_SPARE      (64u << 20)

static const char too_large[] = "claims to have sections that are larger than it can have";

/* Reads a number of the file's byte order. */
static uint64_t number_at(const uint8_t *at, unsigned int size, bool big_endian)
{
	uint64_t number = 0;

	for (unsigned int i = 0; i < size; i++)
		number |= (uint64_t)at[big_endian ? size - 1 - i : i] << 8 * i;
	return number;
}

/*
 * Checks the ELF header's counts, before libelf is given the file: libelf makes a struct of each
 * section. Above 65,279 sections, or 65,534 segments, the counts would stand elsewhere in the file,
 * and could be any number. A program has some dozens.
 */
static const char *check_counts(const uint8_t *header)
{
	bool wide = header[EI_CLASS] == ELFCLASS64, big = header[EI_DATA] == ELFDATA2MSB;
	uint64_t table, sections, segments;

	if (wide) {
		table = number_at(header + offsetof(Elf64_Ehdr, e_shoff), 8, big);
		sections = number_at(header + offsetof(Elf64_Ehdr, e_shnum), 2, big);
		segments = number_at(header + offsetof(Elf64_Ehdr, e_phnum), 2, big);
	} else {
		table = number_at(header + offsetof(Elf32_Ehdr, e_shoff), 4, big);
		sections = number_at(header + offsetof(Elf32_Ehdr, e_shnum), 2, big);
		segments = number_at(header + offsetof(Elf32_Ehdr, e_phnum), 2, big);
	}
	if ((!sections && table) || sections >= SHN_LORESERVE || segments == PN_XNUM)
		return "has more sections or segments than a program has";
	return NULL;
}

/*
 * How large a compressed section claims to be once it is decompressed; 0: it is not compressed. Not
 * by gelf_getchdr(), which reads all of the section.
 */
static uint64_t unpacked_size(int fd, const uint8_t *header, const GElf_Shdr *section)
{
	bool big = header[EI_DATA] == ELFDATA2MSB;
	uint8_t head[16];

	if (section->sh_type == SHT_NOBITS || section->sh_offset > INT64_MAX ||
	    pread(fd, head, sizeof(head), (off_t)section->sh_offset) != sizeof(head))
		return 0;
	if (section->sh_flags & SHF_COMPRESSED)
		return header[EI_CLASS] == ELFCLASS64
			       ? number_at(head + offsetof(Elf64_Chdr, ch_size), 8, big)
			       : number_at(head + offsetof(Elf32_Chdr, ch_size), 4, big);
	// The old way, that of .zdebug_… sections.
	return memcmp(head, "ZLIB", 4) == 0 ? number_at(head + 4, 8, true) : 0;
}

/* Checks what sections would take in memory. */
static const char *check_sizes(int fd, const uint8_t *header, const struct elf_image *image)
{
	struct stat status;
	GElf_Shdr section;
	size_t names;

	if (fstat(fd, &status) < 0)
		return "cannot be read";

	uint64_t left = (uint64_t)status.st_size * GROWTH_MAX + GROWTH_SPARE;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
		if (!gelf_getshdr(scn, &section))
			return "has a damaged table of sections";

		uint64_t size = unpacked_size(fd, header, &section);

		// No linker compresses tables of strings, and libelf would decompress them unasked.
		if (size > left || (size && section.sh_type == SHT_STRTAB))
			return too_large;
		left -= size;
	}
	if (elf_getshdrstrndx(image->elf, &names) || !names)
		return NULL;
	if (!gelf_getshdr(elf_getscn(image->elf, names), &section) ||
	    section.sh_type != SHT_STRTAB || section.sh_size > SECTION_NAMES_MAX)
		return "has damaged names of sections";
	return NULL;
}

static const char *check_content(const struct elf_image *image, enum message_file what)
{
	if (what == MESSAGE_MODULE)
		return elf_image_is_loadable(image) ? NULL
						    : "is neither a program nor a shared library";
	return elf_image_has_dwarf(image) || elf_image_has_symbols(image, SHT_SYMTAB)
		       ? NULL
		       : "has neither debug information nor symbols";
}

struct err *module_check(int fd, const char *path, enum message_file what, const uint8_t *build_id,
			 size_t build_id_size)
{
	cleanup(elf_image_close_at) struct elf_image *image = NULL;
	uint8_t header[sizeof(Elf64_Ehdr)] = {0};

	if (pread(fd, header, sizeof(header), 0) < (ssize_t)sizeof(Elf32_Ehdr) ||
	    memcmp(header, ELFMAG, SELFMAG) != 0)
		return err_create("is not an ELF file");

	const char *wrong = check_counts(header);

	if (!wrong) {
		struct err *err = elf_image_open(path, &image);

		if (err)
			return err;
		if (!elf_image_has_build_id(image, build_id, build_id_size))
			wrong = "does not have this build id";
	}
	if (!wrong)
		wrong = check_sizes(fd, header, image);
	if (!wrong)
		wrong = check_content(image, what);
	return wrong ? err_create("%s", wrong) : NULL;
}
