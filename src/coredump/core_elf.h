/* Reads what an ELF core dump says about itself: its segments, and its notes. */
#ifndef MALLOW_COREDUMP_CORE_ELF_H
#define MALLOW_COREDUMP_CORE_ELF_H

#include <stdbool.h>
#include <stddef.h>

#include "coredump/core_image.h"
#include "hosted/err.h"

/* Whether a file that begins with these bytes is an ELF core dump, of either byte order. */
bool core_elf_is_core(const void *head, size_t size);

/*
 * Reads the core dump at fd, which stays the caller's. name: for messages. ret: empty; also on
 * failure it is to be freed. A core dump whose notes are damaged or cut has fewer mappings.
 */
struct err *core_elf_read(const char *name, int fd, struct core_image *ret);

#endif
