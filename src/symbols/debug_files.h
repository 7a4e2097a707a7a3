/*
 * Finds separate debug files: in directories by build id, in the user's cache, by .gnu_debuglink,
 * from debuginfod; and the files that dwz moves shared parts to (.gnu_debugaltlink). Also finds
 * programs by build id, in the same directories. libdwfl's dwfl_standard_find_debuginfo() is not
 * used, because it opens whatever a name leads to, and would wait for a FIFO.
 *
 * A debug_files belongs to one thread.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_FILES_H
#define MALLOW_SYMBOLS_DEBUG_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/arena.h"
#include "hosted/err.h"
#include "hosted/vec.h"
#include "symbols/elf_image.h"

/* Zeroed: only the system's places, the cache and debuginfod are searched. */
struct debug_files {
	struct arena arena;
	VEC(const char *) paths; /* directories and files given by the user, then the system's */
	bool local;              /* nothing is downloaded: debuginfod is not asked */
};

/*
 * Adds a place: a directory like /usr/lib/debug, the root of another system (a sysroot), or one
 * debug file. In a directory debug files are found as .build-id/xx/yyyy.debug, there or below
 * usr/lib/debug, or by the name of the debuglink or of the program; programs by their build id, or
 * at their recorded path below it. Places are searched in the order in which they were added.
 */
struct err *debug_files_add(struct debug_files *files, const char *path);
void debug_files_deinit(struct debug_files *files);

/* Opens the debug file with that build id. *ret NULL: none was found. */
struct err *debug_files_by_build_id(const struct debug_files *files, const uint8_t *id, size_t size,
				    struct elf_image **ret);

/*
 * Opens the program or library with that build id (.build-id/xx/yyyy, or `path` below a root of the
 * user's; NULL: not there), in the same places, but not from debuginfod. size 0: it has no build
 * id, and is looked for below these roots alone, for that e_machine (0: any). *ret NULL: none was
 * found.
 */
struct err *debug_files_program(const struct debug_files *files, const char *path,
				const uint8_t *id, size_t size, uint32_t machine,
				struct elf_image **ret);

/*
 * Opens the separate debug file of an image: by its build id, else by its debuglink. *ret NULL:
 * none was found.
 */
struct err *debug_files_for(const struct debug_files *files, const struct elf_image *image,
			    struct elf_image **ret);

/*
 * Opens the file that dwz moved shared parts of the image's DWARF to. *ret NULL: the image names
 * none, or it was not found.
 */
struct err *debug_files_alternate(const struct debug_files *files, const struct elf_image *image,
				  struct elf_image **ret);

/*
 * Opens the package with the split units of an image, decompressed: PATH.dwp beside it, or beside
 * the program whose debug file it is (NULL: none), or NAME.dwp in a place of debug files. *ret
 * NULL: there is none.
 */
struct err *debug_files_package(const struct debug_files *files, const struct elf_image *image,
				const struct elf_image *program, struct elf_image **ret);

/*
 * The user's cache of programs, libraries and debug files, by build id. A receiver of recordings
 * fills it (stream/modules/module_store.h), and all look-ups of names read it:
 *
 *	~/.cache/mallow/modules/.build-id/ab/cdef0123…           a program or library
 *	~/.cache/mallow/modules/.build-id/ab/cdef0123….debug     its debug file
 *
 * That is the layout of /usr/lib/debug and of the directories that --debug-symbols names.
 */
#define MODULE_CACHE_FOLDER   ".build-id"
#define MODULE_CACHE_NAME_MAX (sizeof(MODULE_CACHE_FOLDER "//.debug") + 2 * ELF_IMAGE_BUILD_ID_MAX)

/*
 * The path of the cache; the caller owns it (free()). make: create the folder if it is missing.
 * NULL: it has no place, or could not be created.
 */
char *module_cache_path(bool make);

/*
 * Writes the name of a file within the cache, or within a directory of its layout: hexadecimal
 * digits, whatever the build id is. false: no file has such a build id, which is of 2 to
 * ELF_IMAGE_BUILD_ID_MAX bytes.
 */
bool module_cache_name(const uint8_t *build_id, size_t size, bool debug,
		       char ret[MODULE_CACHE_NAME_MAX]);

#endif
