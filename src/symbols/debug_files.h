/*
 * Where separate debug information is: directories by build id, .gnu_debuglink, debuginfod, and
 * dwz's shared files (.gnu_debugaltlink). A search of our own and not
 * dwfl_standard_find_debuginfo(): that one opens whatever a name leads to, and would wait for a
 * FIFO.
 *
 * Belongs to one thread.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_FILES_H
#define MALLOW_SYMBOLS_DEBUG_FILES_H

#include "hosted/arena.h"
#include "hosted/err.h"
#include "hosted/vec.h"
#include "symbols/elf_image.h"

/* A zeroed one knows no place. */
struct debug_files {
	struct arena arena;
	VEC(const char *) paths; /* directories and files given by the user, then the system's */
};

/*
 * A directory (as /usr/lib/debug: .build-id/xx/yyyy.debug, or debug files by their debuglink's or
 * program's name), or one debug file. Searched in the order in which they were added.
 */
struct err *debug_files_add(struct debug_files *files, const char *path);
void debug_files_deinit(struct debug_files *files);

/* The debug file with that build id; *ret NULL: none was found. */
struct err *debug_files_by_build_id(const struct debug_files *files, const uint8_t *id, size_t size,
				    struct elf_image **ret);

/* The separate debug file of an image, by its build id, else its debuglink; *ret NULL: none. */
struct err *debug_files_for(const struct debug_files *files, const struct elf_image *image,
			    struct elf_image **ret);

/* The file that dwz moved shared parts of the image's DWARF to; *ret NULL: none is named. */
struct err *debug_files_alternate(const struct debug_files *files, const struct elf_image *image,
				  struct elf_image **ret);

#endif
