#include "symbols/elf_image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hex.h"
#include "hosted/pages.h"

static const char *kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a FIFO";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	case S_IFSOCK:
		return "a socket";
	default:
		return "no regular file";
	}
}

struct err *elf_image_open_file(const char *path, int *ret)
{
	struct stat status;

	// Checked before open(), because opening a device can rewind a tape or wake a driver.
	if (stat(path, &status))
		return err_create_errno(errno, "%s", path);
	if (!S_ISREG(status.st_mode))
		return err_create("%s is %s", path, kind_of(status.st_mode));

	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	// Checked again after it: the name may lead to another file by now.
	if (fd < 0 || fstat(fd, &status))
		return err_create_errno(errno, "%s", path);
	if (!S_ISREG(status.st_mode))
		return err_create("%s is %s", path, kind_of(status.st_mode));
	if (!status.st_size)
		return err_create("%s is empty", path);
	*ret = fd;
	fd = -1;
	return NULL;
}

/* Checks that the bytes of an image are an ELF file that can be read. */
static struct err *check_elf(struct elf_image *image)
{
	GElf_Ehdr header;

	if (!image->elf)
		return err_create("%s: %s", image->path, elf_errmsg(-1));
	if (elf_kind(image->elf) != ELF_K_ELF || !gelf_getehdr(image->elf, &header))
		return err_create("%s is not an ELF file", image->path);
	return NULL;
}

bool elf_image_is_loadable(const struct elf_image *image)
{
	GElf_Ehdr header;

	return gelf_getehdr(image->elf, &header) &&
	       (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

bool elf_image_is_laid_out_as_here(const struct elf_image *image)
{
	size_t size;
	const char *identity = elf_getident(image->elf, &size);

	return identity && size >= EI_NIDENT && identity[EI_CLASS] == ELFCLASS64 &&
	       identity[EI_DATA] == ELFDATA2LSB;
}

struct err *elf_image_open(const char *path, struct elf_image **ret)
{
	cleanup(elf_image_close_at) struct elf_image *image = calloc(1, sizeof(*image));

	if (!image)
		return err_no_memory();
	image->fd = -1;
	image->path = strdup(path);
	if (!image->path)
		return err_no_memory();

	struct err *err = elf_image_open_file(path, &image->fd);

	if (err)
		return err;
	elf_version(EV_CURRENT);
	// Not mmap: a mapped file that shrinks (a linker at work) kills its reader. Reading costs
	// no time and 6 % more memory (libpython3.13 with its DWARF: 70 against 66 MB).
	image->elf = elf_begin(image->fd, ELF_C_READ, NULL);
	err = check_elf(image);
	if (err)
		return err;
	*ret = steal(&image);
	return NULL;
}

static void free_memory(void *memory, size_t pages_size)
{
	if (pages_size)
		pages_free(memory, pages_size);
	else
		free(memory);
}

static struct err *open_memory(void *memory, size_t size, size_t pages_size, const char *path,
			       struct elf_image **ret)
{
	cleanup(elf_image_close_at) struct elf_image *image = calloc(1, sizeof(*image));

	if (!image) {
		free_memory(memory, pages_size);
		return err_no_memory();
	}
	image->fd = -1;
	image->memory = memory;
	image->pages_size = pages_size;
	image->path = strdup(path);
	if (!image->path)
		return err_no_memory();
	elf_version(EV_CURRENT);
	image->elf = elf_memory(memory, size);

	struct err *err = check_elf(image);

	if (err)
		return err;
	*ret = steal(&image);
	return NULL;
}

struct err *elf_image_open_memory(void *memory, size_t size, const char *path,
				  struct elf_image **ret)
{
	return open_memory(memory, size, 0, path, ret);
}

struct err *elf_image_open_pages(void *pages, size_t size, const char *path, struct elf_image **ret)
{
	return open_memory(pages, size, size, path, ret);
}

void elf_image_let_go(struct elf_image *image)
{
	if (image->fd < 0)
		return;
	elf_cntl(image->elf, ELF_C_FDDONE);
	close(image->fd);
	image->fd = -1;
}

void elf_image_close(struct elf_image *image)
{
	if (!image)
		return;
	elf_end(image->elf);
	if (image->fd >= 0)
		close(image->fd);
	free_memory(image->memory, image->pages_size);
	arena_deinit(&image->padded);
	free(image->path);
	free(image);
}

/*
 * So many bytes of notes are looked through for the build id. Its own note has 36. Without a limit,
 * a hostile file whose sections all cover the whole file would take all memory.
 */
#define NOTES_MAX (16u << 20)

/* Finds the build id among the notes in data. Returns its size, 0: none. */
static size_t find_build_id(Elf_Data *data, const uint8_t **ret)
{
	GElf_Nhdr note;
	size_t name, content;

	for (size_t at = 0, next; (next = gelf_getnote(data, at, &note, &name, &content)) > 0;
	     at = next) {
		const char *bytes = data->d_buf;

		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    !memcmp(bytes + name, "GNU", sizeof("GNU")) && note.n_descsz &&
		    note.n_descsz <= ELF_IMAGE_BUILD_ID_MAX) {
			*ret = (const uint8_t *)bytes + content;
			return note.n_descsz;
		}
	}
	return 0;
}

size_t elf_image_build_id(const struct elf_image *image, const uint8_t **ret)
{
	GElf_Shdr section;
	GElf_Phdr segment;
	size_t size, count;
	uint64_t left = NOTES_MAX;

	// Sections first: the segments of a separate debug file point at bytes it does not have.
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
		if (!gelf_getshdr(scn, &section) || section.sh_type != SHT_NOTE ||
		    section.sh_size > left)
			continue;
		left -= section.sh_size;

		Elf_Data *data = elf_getdata(scn, NULL);

		size = data && data->d_buf ? find_build_id(data, ret) : 0;
		if (size)
			return size;
	}
	if (elf_getphdrnum(image->elf, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(image->elf, (int)i, &segment) || segment.p_type != PT_NOTE ||
		    segment.p_filesz > left)
			continue;
		left -= segment.p_filesz;

		Elf_Data *data = elf_getdata_rawchunk(
			image->elf, (int64_t)segment.p_offset, segment.p_filesz,
			segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);

		size = data && data->d_buf ? find_build_id(data, ret) : 0;
		if (size)
			return size;
	}
	return 0;
}

bool elf_image_has_build_id(const struct elf_image *image, const uint8_t *id, size_t size)
{
	const uint8_t *own;
	size_t own_size = elf_image_build_id(image, &own);

	return own_size == size && size && !memcmp(own, id, size);
}

struct err *elf_image_check_build_id(const struct elf_image *image, const uint8_t *id, size_t size)
{
	char wanted[HEX_ROOM(ELF_IMAGE_BUILD_ID_MAX)], own[sizeof(wanted)];
	const uint8_t *bytes;
	size_t own_size;

	if (elf_image_has_build_id(image, id, size))
		return NULL;
	own_size = elf_image_build_id(image, &bytes);
	if (!own_size)
		return err_create("%s has no build id", image->path);
	hex_put(own, bytes, own_size);
	hex_put(wanted, id, size < ELF_IMAGE_BUILD_ID_MAX ? size : ELF_IMAGE_BUILD_ID_MAX);
	return err_create("%s is of another build: its build id is %s, wanted is %s", image->path,
			  own, wanted);
}

struct err *elf_image_check_machine(const struct elf_image *image, uint32_t machine)
{
	GElf_Ehdr header;

	if (!machine || !gelf_getehdr(image->elf, &header) || header.e_machine == machine)
		return NULL;
	return err_create("%s is of another architecture than the recording", image->path);
}

Elf_Scn *elf_image_section(const struct elf_image *image, const char *name)
{
	GElf_Shdr section;
	size_t names;

	if (elf_getshdrstrndx(image->elf, &names))
		return NULL;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
		if (!gelf_getshdr(scn, &section) || section.sh_type == SHT_NOBITS)
			continue;

		const char *text = elf_strptr(image->elf, names, section.sh_name);

		if (text && !strcmp(text, name))
			return scn;
	}
	return NULL;
}

Elf_Data *elf_image_section_data(const struct elf_image *image, const char *name)
{
	Elf_Scn *scn = elf_image_section(image, name);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;

	return data && data->d_buf && data->d_size ? data : NULL;
}

bool elf_image_has_dwarf(const struct elf_image *image)
{
	return elf_image_section(image, ".debug_info") || elf_image_section(image, ".zdebug_info");
}

bool elf_image_has_symbols(const struct elf_image *image, uint32_t type)
{
	GElf_Shdr section;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
		if (gelf_getshdr(scn, &section) && section.sh_type == type)
			return true;
	}
	return false;
}

/* Whether the dynamic symbol table has the function, defined there or not. */
static bool has_dynamic(const struct elf_image *image, const char *function, bool defined)
{
	Elf_Scn *section = elf_image_section(image, ".dynsym");
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Shdr header;
	GElf_Sym symbol;

	if (!data || !gelf_getshdr(section, &header))
		return false;
	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(image->elf, header.sh_link, symbol.st_name);

		if (defined ? symbol.st_shndx == SHN_UNDEF ||
				      GELF_ST_TYPE(symbol.st_info) != STT_FUNC
			    : symbol.st_shndx != SHN_UNDEF)
			continue;
		if (name && strcmp(name, function) == 0)
			return true;
	}
	return false;
}

bool elf_image_provides(const struct elf_image *image, const char *function)
{
	return has_dynamic(image, function, true);
}

bool elf_image_imports(const struct elf_image *image, const char *function)
{
	return has_dynamic(image, function, false);
}
