/*
 * Whether a file that somebody else sent may be kept as a program, library or debug file. It may be
 * any bytes, made to do harm to who reads it. So nothing is asked of libelf before it is known what
 * that costs.
 */
#ifndef MALLOW_STREAM_MODULES_MODULE_CHECK_H
#define MALLOW_STREAM_MODULES_MODULE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"
#include "stream/link/message.h"

/*
 * Checks the file at path, which fd is: an ELF file with exactly that build id, a program or
 * library (MESSAGE_MODULE), or one with debug information or symbols (MESSAGE_DEBUG_FILE). Reading
 * its names takes no more memory than its size allows for. An error says what is wrong with it.
 */
struct err *module_check(int fd, const char *path, enum message_file what, const uint8_t *build_id,
			 size_t build_id_size);

#endif
