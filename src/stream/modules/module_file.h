/* The files that a sender gives away: programs, libraries and debug files of a recording. */
#ifndef MALLOW_STREAM_MODULES_MODULE_FILE_H
#define MALLOW_STREAM_MODULES_MODULE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"
#include "stream/link/message.h"

/*
 * Opens the file of a module that a recording names, by the build id and the path in its record.
 *
 *	MESSAGE_MODULE       the file at path, else one of that build id (debug_files.h)
 *	MESSAGE_DEBUG_FILE   its debug file, found as for names (debug_files.h). Nothing is
 *	                     downloaded
 *
 * Either is an ELF file with exactly that build id, so a receiver cannot get any other file. Never
 * blocks, whatever is at path.
 *
 * *found false: this machine has no such file; *fd and *size are untouched. Else the caller closes
 * *fd, and reads by pread(). Its first *size bytes are the file. The only errors: no memory, no
 * descriptor.
 */
struct err *module_file_open(enum message_file what, const uint8_t *build_id, size_t build_id_size,
			     const char *path, int *fd, uint64_t *size, bool *found);

#endif
