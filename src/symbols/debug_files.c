#include "symbols/debug_files.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/compiler.h"
#include "base/hex.h"
#include "hosted/cleanup.h"
#include "hosted/files/cache_folder.h"
#include "symbols/debug_sections.h"
#include "symbols/debuginfod.h"
#include "symbols/symbol_log.h"

#define SYSTEM_ROOT "/usr/lib/debug"

/* What a file must match to be taken. */
struct wanted {
	const uint8_t *build_id;
	size_t build_id_size; /* 0: of a program the machine counts, else the checksum */
	uint32_t machine;     /* e_machine; 0: any */
	uint32_t checksum;    /* zlib's crc32 of the whole file, as .gnu_debuglink has it */
	bool program;         /* a program or library, even one without symbols */
	const char *path;     /* where the recording has it; NULL: not looked for by that */
};

char *module_cache_path(bool make)
{
	auto_free char *folder = cache_folder_path(make);
	char *path;

	if (!folder || asprintf(&path, "%s/modules", folder) < 0)
		return NULL;
	if (!make || mkdir(path, 0700) == 0 || errno == EEXIST)
		return path;
	free(path);
	return NULL;
}

bool module_cache_name(const uint8_t *build_id, size_t size, bool debug,
		       char ret[MODULE_CACHE_NAME_MAX])
{
	if (size < 2 || size > ELF_IMAGE_BUILD_ID_MAX)
		return false;

	char *at = stpcpy(ret, MODULE_CACHE_FOLDER "/");

	at = stpcpy(hex_put(at, build_id, 1), "/");
	at = hex_put(at, build_id + 1, size - 1);
	strcpy(at, debug ? ".debug" : "");
	return true;
}

struct err *debug_files_add(struct debug_files *files, const char *path)
{
	const char *copy = arena_text(&files->arena, path);

	if (!copy || !vec_push(&files->paths, copy))
		return err_no_memory();
	return NULL;
}

void debug_files_deinit(struct debug_files *files)
{
	vec_deinit(&files->paths);
	arena_deinit(&files->arena);
}

static size_t root_count(const struct debug_files *files)
{
	return files->paths.count + 1;
}

static const char *root_at(const struct debug_files *files, size_t i)
{
	return i < files->paths.count ? files->paths.items[i] : SYSTEM_ROOT;
}

static bool checksum_is(const struct elf_image *image, uint32_t expected)
{
	unsigned char bytes[16384];
	uLong checksum = crc32(0, NULL, 0);
	ssize_t size;

	for (off_t at = 0; (size = pread(image->fd, bytes, sizeof(bytes), at)) > 0; at += size)
		checksum = crc32(checksum, bytes, (uInt)size);
	return !size && checksum == expected;
}

/* An error says why the file is not the one that is wanted. */
static struct err *check_match(const struct elf_image *image, const struct wanted *wanted)
{
	if (wanted->program && !elf_image_is_loadable(image))
		return err_create("%s is neither a program nor a shared library", image->path);
	if (!wanted->program && !elf_image_has_dwarf(image) &&
	    !elf_image_has_symbols(image, SHT_SYMTAB))
		return err_create("%s has neither symbols nor debug information", image->path);
	if (wanted->build_id_size)
		return elf_image_check_build_id(image, wanted->build_id, wanted->build_id_size);
	if (wanted->program)
		return elf_image_check_machine(image, wanted->machine);
	if (!checksum_is(image, wanted->checksum))
		return err_create("%s is of another build: its checksum is not the one in "
				  ".gnu_debuglink",
				  image->path);
	return NULL;
}

/* Opens path if it matches; else *ret stays NULL. The only errors: no memory, or no descriptor. */
static struct err *try_path(const char *path, const struct wanted *wanted, struct elf_image **ret)
{
	cleanup(elf_image_close_at) struct elf_image *image = NULL;
	struct err *err = elf_image_open(path, &image);

	if (!err)
		err = check_match(image, wanted);
	if (err_is_shortage(err))
		return err;
	if (!err) {
		symbol_log("%s is taken", path);
		*ret = steal(&image);
	}
	symbol_log_refusal(err);
	return NULL;
}

__attribute__((format(printf, 3, 4))) static struct err *
try_format(const struct wanted *wanted, struct elf_image **ret, const char *format, ...)
{
	char path[PATH_MAX];
	va_list arguments;

	va_start(arguments, format);

	int size = vsnprintf(path, sizeof(path), format, arguments);

	va_end(arguments);
	if (*ret || size < 0 || (size_t)size >= sizeof(path))
		return NULL;
	return try_path(path, wanted, ret);
}

static bool is_directory(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISDIR(status.st_mode);
}

/* Looks for a program at its recorded path below the roots that the user has named. */
static struct err *by_path(const struct debug_files *files, const struct wanted *wanted,
			   struct elf_image **ret)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && !*ret && i < files->paths.count; i++)
		if (wanted->path && *wanted->path == '/')
			err = try_format(wanted, ret, "%s%s", root_at(files, i), wanted->path);
	return err;
}

/* Looks for a file by its build id in all places that have the layout for that. */
static struct err *by_build_id(const struct debug_files *files, const struct wanted *wanted,
			       struct elf_image **ret)
{
	char name[MODULE_CACHE_NAME_MAX];
	struct err *err = NULL;

	if (!module_cache_name(wanted->build_id, wanted->build_id_size, !wanted->program, name)) {
		symbol_log("no file is found by a build id of %zu bytes", wanted->build_id_size);
		return NULL;
	}
	for (size_t i = 0; !err && !*ret && i < root_count(files); i++)
		err = try_format(wanted, ret, "%s/%s", root_at(files, i), name);
	// Or the root of a system, with its files where they are recorded.
	if (!err && wanted->program)
		err = by_path(files, wanted, ret);
	for (size_t i = 0; !wanted->program && !err && !*ret && i < files->paths.count; i++)
		err = try_format(wanted, ret, "%s" SYSTEM_ROOT "/%s", root_at(files, i), name);
	// The user's paths may also be debug files themselves.
	for (size_t i = 0; !wanted->program && !err && !*ret && i < files->paths.count; i++)
		if (!is_directory(files->paths.items[i]))
			err = try_path(files->paths.items[i], wanted, ret);
	if (!err && !*ret) {
		auto_free char *cache = module_cache_path(false);

		if (cache)
			err = try_format(wanted, ret, "%s/%s", cache, name);
	}
	return err;
}

struct err *debug_files_program(const struct debug_files *files, const char *path,
				const uint8_t *id, size_t size, uint32_t machine,
				struct elf_image **ret)
{
	const struct wanted wanted = {.build_id = id,
				      .build_id_size = size,
				      .machine = machine,
				      .program = true,
				      .path = path};

	*ret = NULL;
	return size ? by_build_id(files, &wanted, ret) : by_path(files, &wanted, ret);
}

struct err *debug_files_by_build_id(const struct debug_files *files, const uint8_t *id, size_t size,
				    struct elf_image **ret)
{
	const struct wanted wanted = {.build_id = id, .build_id_size = size};
	struct elf_image *found = NULL;

	*ret = NULL;
	if (size < 2 || size > ELF_IMAGE_BUILD_ID_MAX)
		return NULL;

	struct err *err = by_build_id(files, &wanted, &found);

	if (!err && !found && files->local)
		symbol_log("debuginfod is not asked: nothing is downloaded here");
	if (!err && !found && !files->local) {
		auto_free char *path = debuginfod_fetch(id, size);

		if (path)
			err = try_path(path, &wanted, &found);
	}
	*ret = found;
	return err;
}

/* Tries name in the places where a debuglink may lead. directory: the image's. */
static struct err *try_directory(const struct debug_files *files, const struct wanted *wanted,
				 const char *directory, const char *name, struct elf_image **ret)
{
	struct err *err = try_format(wanted, ret, "%s/%s", directory, name);

	if (!err)
		err = try_format(wanted, ret, "%s/.debug/%s", directory, name);
	for (size_t i = 0; !err && i < root_count(files); i++) {
		err = try_format(wanted, ret, "%s%s/%s", root_at(files, i), directory, name);
		if (!err)
			err = try_format(wanted, ret, "%s/%s", root_at(files, i), name);
	}
	return err;
}

/* The directory of a path as written, and the one to which its symbolic links lead. */
struct directories {
	char plain[PATH_MAX];
	char real[PATH_MAX]; /* empty: the same */
};

static void directories_of(const char *path, struct directories *ret)
{
	char copy[PATH_MAX], real[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	snprintf(ret->plain, sizeof(ret->plain), "%s", dirname(copy));
	ret->real[0] = '\0';
	if (!realpath(path, real))
		return;
	snprintf(ret->real, sizeof(ret->real), "%s", dirname(real));
	if (!strcmp(ret->real, ret->plain))
		ret->real[0] = '\0';
}

static struct err *by_link(const struct debug_files *files, const struct elf_image *image,
			   const struct wanted *wanted, const char *name, struct elf_image **ret)
{
	struct directories directories;

	directories_of(image->path, &directories);

	struct err *err = try_directory(files, wanted, directories.plain, name, ret);

	if (!err && directories.real[0])
		err = try_directory(files, wanted, directories.real, name, ret);
	return err;
}

struct err *debug_files_for(const struct debug_files *files, const struct elf_image *image,
			    struct elf_image **ret)
{
	struct wanted wanted = {0};
	struct elf_image *found = NULL;
	struct err *err = NULL;
	GElf_Word checksum;

	*ret = NULL;
	wanted.build_id_size = elf_image_build_id(image, &wanted.build_id);
	if (wanted.build_id_size)
		err = debug_files_by_build_id(files, wanted.build_id, wanted.build_id_size, &found);

	const char *name = dwelf_elf_gnu_debuglink(image->elf, &checksum);

	if (!err && !found && (!name || !name[0])) {
		symbol_log("%s names no debug file: it has no .gnu_debuglink", image->path);
	} else if (!err && !found && strchr(name, '/')) {
		// By a name with a slash a hostile file could have us open anything.
		symbol_log("its .gnu_debuglink is not followed: '%s' is no plain name", name);
	} else if (!err && !found) {
		wanted.checksum = checksum;
		err = by_link(files, image, &wanted, name, &found);
	}
	*ret = found;
	return err;
}

/*
 * Reads the name and the build id from .gnu_debugaltlink. false: there is no such section, or it is
 * damaged.
 */
static bool read_altlink(const struct elf_image *image, const char **name, struct wanted *ret)
{
	Elf_Data *data = elf_image_section_data(image, ".gnu_debugaltlink");

	if (!data)
		return false;

	size_t length = strnlen(data->d_buf, data->d_size);

	if (!length || length + 1 >= data->d_size)
		return false;
	*name = data->d_buf;
	ret->build_id = (const uint8_t *)data->d_buf + length + 1;
	ret->build_id_size = data->d_size - length - 1;
	return true;
}

struct err *debug_files_alternate(const struct debug_files *files, const struct elf_image *image,
				  struct elf_image **ret)
{
	struct elf_image *found = NULL;
	struct directories directories;
	struct wanted wanted = {0};
	struct err *err = NULL;
	const char *name;

	*ret = NULL;
	if (!read_altlink(image, &name, &wanted))
		return NULL;
	directories_of(image->path, &directories);
	if (name[0] == '/')
		err = try_format(&wanted, &found, "%s", name);
	else
		err = try_format(&wanted, &found, "%s/%s", directories.plain, name);
	if (!err && name[0] != '/' && directories.real[0])
		err = try_format(&wanted, &found, "%s/%s", directories.real, name);

	// Debian's place for such files, below each root that packages may be unpacked to.
	const char *part = strstr(name, "/.dwz/");

	for (size_t i = 0; part && !err && i < root_count(files); i++)
		err = try_format(&wanted, &found, "%s%s", root_at(files, i), part);
	if (!err && !found)
		err = debug_files_by_build_id(files, wanted.build_id, wanted.build_id_size, &found);
	*ret = found;
	return err;
}

/* Opens path.dwp if it is a package; else *ret stays NULL. */
static struct err *try_package(const char *path, struct elf_image **ret)
{
	cleanup(elf_image_close_at) struct elf_image *image = NULL, *unpacked = NULL;
	char package[PATH_MAX];
	struct err *err;
	int size = snprintf(package, sizeof(package), "%s.dwp", path);

	if (*ret || size < 0 || (size_t)size >= sizeof(package))
		return NULL;
	err = elf_image_open(package, &image);
	if (!err)
		err = debug_sections_open(image, &unpacked);
	if (!err && !elf_image_section(image, ".debug_cu_index"))
		err = err_create("%s is no package of split units", package);
	if (err_is_shortage(err))
		return err;
	if (!err)
		*ret = unpacked ? steal(&unpacked) : steal(&image);
	symbol_log_refusal(err);
	return NULL;
}

struct err *debug_files_package(const struct debug_files *files, const struct elf_image *image,
				const struct elf_image *program, struct elf_image **ret)
{
	const struct elf_image *images[] = {image, program};
	struct err *err = NULL;

	*ret = NULL;
	for (size_t i = 0; !err && i < (program ? 2 : 1); i++) {
		char real[PATH_MAX];

		err = try_package(images[i]->path, ret);
		if (!err && realpath(images[i]->path, real))
			err = try_package(real, ret);
	}
	for (size_t i = 0; !err && i < files->paths.count; i++) {
		const char *name = strrchr((program ? program : image)->path, '/');
		char path[PATH_MAX];

		if (name && snprintf(path, sizeof(path), "%s%s", files->paths.items[i], name) <
				    (int)sizeof(path))
			err = try_package(path, ret);
	}
	return err;
}
