#include "symbols/debug_sections.h"

#include <errno.h>
#include <libdeflate.h>
#include <lzma.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "hosted/pages.h"
#include "hosted/zstd_frame.h"
#include "symbols/symbol_log.h"

/*
 * How many times its size a section may claim to have decompressed. DWARF compresses to about a
 * third; more than this is there to exhaust memory.
 */
#define GROWTH_MAX 256

/* The most sections of an image: more than there are kinds. */
#define PARTS_MAX 32
#define ALIGNMENT 64

/* Elf64_Chdr.ch_type, younger than Debian 12's elf.h. */
#define COMPRESS_ZSTD 2

/*
 * The most bytes of what .gnu_debugdata holds, and of the decoder's memory. The largest programs
 * need some MiB; a damaged section must not take all memory.
 */
#define SIZE_LIMIT  (256u << 20)
#define CODER_LIMIT (128u << 20)

/* A section of the new image. */
struct part {
	Elf64_Shdr from; /* in the file, compressed if its flags say so */
	Elf64_Shdr to;
	bool zstd; /* compressed by zstd, else by zlib */
};

struct making {
	const struct elf_image *image;
	uint64_t file_size;
	struct part parts[PARTS_MAX]; /* the first is empty, as in any table of sections */
	unsigned count;
	unsigned names; /* the part with the names of sections */
	uint64_t size;  /* of the image, as far as it is planned */
	uint8_t *memory;
	uint8_t *packed;      /* a section is read to here before it is decompressed */
	uint64_t packed_size; /* of the largest section */
	struct libdeflate_decompressor *decompressor;
};

static void making_deinit(struct making *making)
{
	libdeflate_free_decompressor(making->decompressor);
	pages_free(making->packed, making->packed_size);
}

/* Sections that no look-up here reads: a fifth of the C library's debug file. */
static bool is_unread(const char *name)
{
	static const char *const unread[] = {".debug_loc", ".debug_loclists", ".debug_macinfo",
					     ".debug_macro", ".debug_frame"};

	for (size_t i = 0; i < ARRAY_COUNT(unread); i++)
		if (strcmp(name, unread[i]) == 0)
			return true;
	return false;
}

static bool is_alternate(const char *name)
{
	return strcmp(name, ".gnu_debugaltlink") == 0;
}

/* Hides sections from libdw, which reads all whose names it knows. */
static void hide_sections(const struct elf_image *image, bool (*is_hidden)(const char *name))
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
		if (!name || !is_hidden(name))
			continue;
		section.sh_type = SHT_NOBITS; // in memory only: the file is open for reading
		gelf_update_shdr(scn, &section);
	}
}

void debug_sections_hide_alternate(const struct elf_image *image)
{
	hide_sections(image, is_alternate);
}

static struct err *impossible_size(const struct elf_image *image, const GElf_Shdr *section)
{
	return err_create("%s: the compressed section at offset %#llx claims an impossible size",
			  image->path, (unsigned long long)section->sh_offset);
}

/*
 * Checks compressed sections before libdw reads them: it would believe their sizes, and be silent
 * about those that it cannot decompress.
 */
static struct err *check_packed(const struct elf_image *image)
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
		if (compressed.ch_type != ELFCOMPRESS_ZLIB)
			return err_create("%s: its debug sections are compressed in a way that "
					  "mallow does not read in such a file",
					  image->path);
	}
	return NULL;
}

/*
 * Reads the header of a compressed section. false: it is compressed in another way, or cut short.
 */
static bool read_packed(const struct making *making, const GElf_Shdr *section, Elf64_Chdr *ret)
{
	return section->sh_size > sizeof(*ret) &&
	       pread(making->image->fd, ret, sizeof(*ret), (off_t)section->sh_offset) ==
		       sizeof(*ret) &&
	       (ret->ch_type == ELFCOMPRESS_ZLIB || ret->ch_type == COMPRESS_ZSTD);
}

/*
 * Adds a section to the plan, unless the file ends within it. *ret false: an image cannot be made.
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
		part.zstd = packed.ch_type == COMPRESS_ZSTD;
		part.to.sh_size = packed.ch_size;
		part.to.sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
		if (making->packed_size < section->sh_size)
			making->packed_size = section->sh_size;
	}
	*ret = making->count < PARTS_MAX;
	if (!*ret)
		return NULL;
	part.to.sh_addralign = 1;
	part.to.sh_offset = making->size;
	making->size = bytes_round_up(making->size + part.to.sh_size, ALIGNMENT);
	making->parts[making->count++] = part;
	return NULL;
}

static bool is_wanted(const GElf_Shdr *section, const char *name)
{
	return section->sh_type != SHT_NOBITS && strncmp(name, ".debug_", 7) == 0 &&
	       !is_unread(name);
}

static struct err *plan_image(struct making *making, bool *ret)
{
	const struct elf_image *image = making->image;
	struct err *err = NULL;
	struct stat status;
	size_t names;

	*ret = image->fd >= 0 && elf_image_is_laid_out_as_here(image) &&
	       !elf_getshdrstrndx(image->elf, &names) && !fstat(image->fd, &status);
	making->file_size = *ret ? (uint64_t)status.st_size : 0;
	making->count = 1;
	making->size = sizeof(Elf64_Ehdr);
	for (Elf_Scn *scn = NULL; !err && *ret && (scn = elf_nextscn(image->elf, scn));) {
		GElf_Shdr section;
		const char *name;

		if (!gelf_getshdr(scn, &section))
			continue;
		name = elf_strptr(image->elf, names, section.sh_name);
		if (elf_ndxscn(scn) == names)
			making->names = making->count;
		else if (!name || !is_wanted(&section, name))
			continue;
		err = plan_section(making, &section, ret);
	}
	*ret = *ret && making->packed_size;
	return err;
}

static bool read_bytes(const struct making *making, uint64_t offset, uint64_t size, uint8_t *to)
{
	return pread(making->image->fd, to, size, (off_t)offset) == (ssize_t)size;
}

/* *ret: whether all of the section came out. The only error: no memory. */
static struct err *decompress_part(const struct making *making, const struct part *part,
				   uint8_t *to, bool *ret)
{
	uint64_t size = part->from.sh_size - sizeof(Elf64_Chdr);
	struct err *err;
	size_t got = 0;

	*ret = read_bytes(making, part->from.sh_offset + sizeof(Elf64_Chdr), size, making->packed);
	if (!*ret)
		return NULL;
	if (!part->zstd) {
		*ret = libdeflate_zlib_decompress(making->decompressor, making->packed, size, to,
						  part->to.sh_size, NULL) == LIBDEFLATE_SUCCESS;
		return NULL;
	}
	err = zstd_frame_read(making->packed, size, to, part->to.sh_size, &got, ret);
	*ret = *ret && got == part->to.sh_size;
	return err;
}

/* Reads a section to its place in the image. A damaged one is left out, as libdw would. */
static struct err *fill_part(const struct making *making, struct part *part)
{
	uint8_t *to = making->memory + part->to.sh_offset;
	struct err *err = NULL;
	bool good;

	if (part->from.sh_flags & SHF_COMPRESSED)
		err = decompress_part(making, part, to, &good);
	else
		good = read_bytes(making, part->from.sh_offset, part->from.sh_size, to);
	if (!err && !good)
		part->to.sh_type = SHT_NOBITS;
	return err;
}

/* Writes the image's header, and the table of sections behind the parts. */
static void put_headers(const struct making *making)
{
	uint8_t *memory = making->memory, *table = memory + making->size;
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

static struct err *make_image(struct making *making, struct elf_image **ret)
{
	size_t size = making->size + making->count * sizeof(Elf64_Shdr);
	struct err *err = NULL;

	making->decompressor = libdeflate_alloc_decompressor();
	if (!making->decompressor)
		return err_no_memory();
	making->packed = pages_alloc(making->packed_size);
	making->memory = making->packed ? pages_alloc(size) : NULL;
	if (!making->memory)
		return err_create("%s: no memory for its sections", making->image->path);
	for (unsigned i = 1; !err && i < making->count; i++)
		err = fill_part(making, &making->parts[i]);
	if (err) {
		pages_free(making->memory, size);
		return err;
	}
	put_headers(making);
	return elf_image_open_pages(making->memory, size, making->image->path, ret);
}

struct err *debug_sections_open(const struct elf_image *image, struct elf_image **ret)
{
	cleanup(making_deinit) struct making making = {.image = image};
	bool possible = false;
	struct err *err = plan_image(&making, &possible);

	if (err)
		return err;
	if (possible)
		return make_image(&making, ret);
	hide_sections(image, is_unread);
	return check_packed(image);
}

/*
 * Decodes at most SIZE_LIMIT bytes. The buffer is doubled until the result fits. *ret NULL: it
 * could not be decoded.
 */
static struct err *decode_xz(const char *path, const Elf_Data *data, uint8_t **ret,
			     size_t *ret_size)
{
	*ret = NULL;
	for (size_t capacity = data->d_size * 4; capacity <= SIZE_LIMIT; capacity *= 2) {
		auto_free uint8_t *bytes = malloc(capacity);
		uint64_t limit = CODER_LIMIT;
		size_t in = 0, out = 0;

		if (!bytes)
			return err_no_memory();

		lzma_ret result = lzma_stream_buffer_decode(&limit, 0, NULL, data->d_buf, &in,
							    data->d_size, bytes, &out, capacity);

		if (result == LZMA_OK) {
			*ret = steal(&bytes);
			*ret_size = out;
			return NULL;
		}
		if (result == LZMA_MEM_ERROR)
			return err_no_memory();
		if (result == LZMA_FORMAT_ERROR || result == LZMA_OPTIONS_ERROR) {
			symbol_log("%s: .gnu_debugdata is compressed in an unknown way, not by xz",
				   path);
			return NULL;
		}
		if (result != LZMA_BUF_ERROR) {
			symbol_log("%s: .gnu_debugdata is damaged", path);
			return NULL;
		}
	}
	symbol_log("%s: .gnu_debugdata is cut short, or has more than %u MiB", path,
		   SIZE_LIMIT >> 20);
	return NULL;
}

struct err *mini_debug_open(const struct elf_image *image, struct elf_image **ret)
{
	Elf_Data *data = elf_image_section_data(image, ".gnu_debugdata");
	struct elf_image *mini = NULL;
	uint8_t *bytes = NULL;
	size_t size = 0;

	*ret = NULL;
	if (!data) {
		symbol_log("%s %s .gnu_debugdata", image->path,
			   elf_image_section(image, ".gnu_debugdata") ? "has an empty" : "has no");
		return NULL;
	}

	struct err *err = decode_xz(image->path, data, &bytes, &size);

	if (err || !bytes)
		return err;
	err = elf_image_open_memory(bytes, size, image->path, &mini);
	if (err && err_number(err) == ENOMEM)
		return err;
	symbol_log_refusal(err_prefix(err, ".gnu_debugdata"));
	*ret = mini;
	return NULL;
}
