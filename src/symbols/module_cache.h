/*
 * The user's cache of programs, libraries and debug files, by build id. A receiver of recordings
 * fills it (stream/modules/module_store.h), and all look-ups of names read it:
 *
 *	~/.cache/mallow/modules/.build-id/ab/cdef0123…           a program or library
 *	~/.cache/mallow/modules/.build-id/ab/cdef0123….debug     its debug file
 *
 * That is the layout of /usr/lib/debug and of the directories that --debug-symbols names.
 */
#ifndef MALLOW_SYMBOLS_MODULE_CACHE_H
#define MALLOW_SYMBOLS_MODULE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_image.h"

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
