/* The file of a program or library that a recording names. */
#ifndef MALLOW_SYMBOLS_PROGRAM_FILE_H
#define MALLOW_SYMBOLS_PROGRAM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"
#include "symbols/debug_files.h"
#include "symbols/elf_image.h"

/* Whether a module of that recorded path has a file at all. The vdso has none. */
bool program_file_exists(const char *path);

/*
 * Opens the file at a recorded path if it is a program or library and its build id is the given
 * one. build_id_size 0: the recording has none, so the file must be for that e_machine (0: any).
 * Else the error says why not: "file changed since the recording". A path may end in " (deleted)",
 * as /proc/PID/maps has it.
 */
struct err *program_file_open(const char *path, const uint8_t *build_id, size_t build_id_size,
			      uint32_t machine, struct elf_image **ret);

/*
 * Opens the program or library of that build id at its recorded path, else in a place where files
 * are found by build id (debug_files_program()). *ret NULL: this machine has none. The only errors:
 * no memory, no descriptor.
 */
struct err *program_file_find(const struct debug_files *files, const char *path,
			      const uint8_t *build_id, size_t build_id_size,
			      struct elf_image **ret);

#endif
