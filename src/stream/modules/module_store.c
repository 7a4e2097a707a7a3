#include "stream/modules/module_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/debug_files.h"
#include "symbols/elf_image.h"
#include "symbols/program_file.h"

#define INCOMING "incoming-"

/* Names of sections take so many bytes at most. Those of a program take some hundreds. */
#define SECTION_NAMES_MAX (16u << 20)
/*
 * Decompressed sections may be so many times as large as the whole file, and a bit. Debug
 * information becomes 3 to 6 times as large. zlib could make it 1032 times.
 */
#define GROWTH_MAX        16u
#define GROWTH_SPARE      (64u << 20)

struct module_store {
	char *path; /* of the cache */
	struct debug_files files;
};

struct incoming_module {
	enum message_file what;
	uint8_t build_id[ELF_IMAGE_BUILD_ID_MAX];
	size_t build_id_size;
	int fd;          /* locked: module_store_create() leaves the file alone */
	char *temporary; /* its path */
	char *path;      /* where it will be */
	uint64_t size;   /* so far */
};

CLEANUP_DEFINE(DIR *, closedir);

/* Removes one file that is not being written any more. */
static void remove_left(int folder, const char *name)
{
	auto_close int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlinkat(folder, name, 0);
}

static void remove_all_left(const char *path)
{
	cleanup(closedir_at) DIR *folder = opendir(path);

	for (struct dirent *entry; folder && (entry = readdir(folder));)
		if (strncmp(entry->d_name, INCOMING, strlen(INCOMING)) == 0)
			remove_left(dirfd(folder), entry->d_name);
}

struct err *module_store_create(const char *const *places, struct module_store **ret)
{
	cleanup(module_store_destroy_at) struct module_store *store = calloc(1, sizeof(*store));
	struct err *err = NULL;

	if (!store)
		return err_no_memory();
	store->files.local = true;
	store->path = module_cache_path(true);
	if (!store->path)
		return err_create("there is no folder for programs and debug files, "
				  "$XDG_CACHE_HOME/mallow/modules or ~/.cache/mallow/modules, "
				  "and it cannot be made");
	for (; !err && places && *places; places++)
		err = debug_files_add(&store->files, *places);
	if (err)
		return err;
	remove_all_left(store->path);
	*ret = steal(&store);
	return NULL;
}

void module_store_destroy(struct module_store *store)
{
	if (!store)
		return;
	debug_files_deinit(&store->files);
	free(store->path);
	free(store);
}

struct err *module_store_lacks(const struct module_store *store, enum message_file what,
			       const uint8_t *build_id, size_t build_id_size, const char *path,
			       bool *ret)
{
	cleanup(elf_image_close_at) struct elf_image *program = NULL, *debug = NULL;
	char name[MODULE_CACHE_NAME_MAX];

	if (!module_cache_name(build_id, build_id_size, false, name) ||
	    !program_file_exists(path)) {
		*ret = false;
		return NULL;
	}

	struct err *err = program_file_find(&store->files, path, build_id, build_id_size, &program);

	if (err)
		return err;
	if (what == MESSAGE_MODULE || (program && elf_image_has_dwarf(program))) {
		*ret = !program;
		return NULL;
	}
	err = program ? debug_files_for(&store->files, program, &debug)
		      : debug_files_by_build_id(&store->files, build_id, build_id_size, &debug);
	if (err)
		return err;
	*ret = !debug;
	return NULL;
}

/* Makes the file without a build id's name, and locks it. */
static struct err *make_temporary(struct incoming_module *file, const char *folder)
{
	struct stat status;

	if (asprintf(&file->temporary, "%s/" INCOMING "XXXXXX", folder) < 0) {
		file->temporary = NULL;
		return err_no_memory();
	}
	// Between the two calls another receiver that begins may remove the file.
	do {
		if (file->fd >= 0)
			close(file->fd);
		strcpy(file->temporary + strlen(file->temporary) - 6, "XXXXXX");
		file->fd = mkostemp(file->temporary, O_CLOEXEC);
		if (file->fd < 0)
			return err_create_errno(errno, "%s", file->temporary);
		// Where there are no locks, remove_left() gets none either, and removes nothing.
		flock(file->fd, LOCK_EX);
		if (fstat(file->fd, &status) < 0)
			return err_create_errno(errno, "%s", file->temporary);
	} while (!status.st_nlink);
	return NULL;
}

struct err *module_store_begin(const struct module_store *store, enum message_file what,
			       const uint8_t *build_id, size_t build_id_size,
			       struct incoming_module **ret)
{
	cleanup(module_store_abandon_at) struct incoming_module *file = calloc(1, sizeof(*file));
	char name[MODULE_CACHE_NAME_MAX];

	if (!file)
		return err_no_memory();
	file->fd = -1;
	file->what = what;
	if (!module_cache_name(build_id, build_id_size, what == MESSAGE_DEBUG_FILE, name))
		return err_create("a build id of %zu bytes: 2 to %d were expected", build_id_size,
				  ELF_IMAGE_BUILD_ID_MAX);
	memcpy(file->build_id, build_id, build_id_size);
	file->build_id_size = build_id_size;
	if (asprintf(&file->path, "%s/%s", store->path, name) < 0) {
		file->path = NULL;
		return err_no_memory();
	}

	struct err *err = make_temporary(file, store->path);

	if (err)
		return err;
	*ret = steal(&file);
	return NULL;
}

struct err *module_store_append(struct incoming_module *file, uint64_t offset, const void *data,
				size_t size)
{
	const uint8_t *bytes = data;

	if (offset != file->size)
		return err_create("%s: bytes for offset %llu were sent, those for %llu were "
				  "expected",
				  file->path, (unsigned long long)offset,
				  (unsigned long long)file->size);
	if (size > MODULE_STORE_FILE_MAX - file->size)
		return err_create("%s: a file of more than 4 GiB was sent", file->path);
	while (size) {
		ssize_t written = pwrite(file->fd, bytes, size, (off_t)file->size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return err_create_errno(written ? errno : ENOSPC, "%s", file->temporary);
		bytes += written;
		size -= (size_t)written;
		file->size += (uint64_t)written;
	}
	return NULL;
}

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

/*
 * Whether a file that somebody else sent may be kept. It may be any bytes, made to do harm to who
 * reads it. So nothing is asked of libelf before it is known what that costs.
 *
 * Checks the file at path, which fd is: an ELF file with exactly that build id, a program or
 * library (MESSAGE_MODULE), or one with debug information or symbols (MESSAGE_DEBUG_FILE). Reading
 * its names takes no more memory than its size allows for. An error says what is wrong with it.
 */
static struct err *check_file(int fd, const char *path, enum message_file what,
			      const uint8_t *build_id, size_t build_id_size)
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

/* Whether a file is there already that look-ups take. */
static bool is_there(const struct incoming_module *file)
{
	auto_close int fd = -1;
	auto_err struct err *err = elf_image_open_file(file->path, &fd);

	if (!err)
		err = check_file(fd, file->path, file->what, file->build_id, file->build_id_size);
	return !err;
}

static struct err *make_folder(const char *path, size_t length)
{
	auto_free char *folder = strndup(path, length);

	if (!folder)
		return err_no_memory();
	return mkdir(folder, 0700) == 0 || errno == EEXIST ? NULL
							   : err_create_errno(errno, "%s", folder);
}

/* Makes …/.build-id and …/.build-id/ab, above the file. */
static struct err *make_folders(const char *path)
{
	const char *last = strrchr(path, '/');
	const char *first = memrchr(path, '/', (size_t)(last - path));
	struct err *err = make_folder(path, (size_t)(first - path));

	return err ? err : make_folder(path, (size_t)(last - path));
}

struct err *module_store_commit(struct incoming_module *file)
{
	cleanup(module_store_abandon_at) struct incoming_module *owned = file;
	struct err *err = check_file(file->fd, file->temporary, file->what, file->build_id,
				     file->build_id_size);

	if (err)
		return err_is_shortage(err) ? err
					    : err_prefix(err, "the file sent for %s", file->path);
	if (is_there(file))
		return NULL;
	err = make_folders(file->path);
	if (err)
		return err;
	// Synced first: a name must never lead to a file whose bytes a crash has taken away.
	if (fdatasync(file->fd) < 0 || rename(file->temporary, file->path) < 0)
		return err_create_errno(errno, "%s", file->path);
	free(steal(&owned->temporary));
	return NULL;
}

void module_store_abandon(struct incoming_module *file)
{
	if (!file)
		return;
	if (file->fd >= 0) {
		if (file->temporary)
			unlink(file->temporary);
		close(file->fd);
	}
	free(file->temporary);
	free(file->path);
	free(file);
}
