/*
 * .gnu_debugdata: a small ELF image, compressed by xz, with the local functions of a stripped file.
 */
#ifndef MALLOW_SYMBOLS_MINI_DEBUG_H
#define MALLOW_SYMBOLS_MINI_DEBUG_H

#include "symbols/elf_image.h"

/*
 * Decompresses and opens it. *ret NULL: the image has none, or it is damaged. The only error: no
 * memory.
 */
struct err *mini_debug_open(const struct elf_image *image, struct elf_image **ret);

#endif
