/*
 * The text that a function of a program returns which does nothing else, such as
 * __lsan_default_suppressions(): read from its file, by looking at its code. Nothing is executed.
 */
#ifndef MALLOW_SYMBOLS_CONSTANT_TEXT_H
#define MALLOW_SYMBOLS_CONSTANT_TEXT_H

#include "symbols/elf_image.h"

/*
 * *text: owned (free()); NULL: the image has no such function in a symbol table, or its code, for
 * x86-64, is not what compilers make of `return "text";` at any level of optimisation: the address
 * of a text that cannot be written to, put into the register for results, between what opens and
 * closes a function's frame.
 */
struct err *constant_text(const struct elf_image *image, const char *function, char **text);

#endif
