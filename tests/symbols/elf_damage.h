/* Damages ELF files where it tells: in their headers, and in single sections. */
#ifndef MALLOW_TESTS_SYMBOLS_ELF_DAMAGE_H
#define MALLOW_TESTS_SYMBOLS_ELF_DAMAGE_H

#include <stddef.h>
#include <stdint.h>

/* The next number of a sequence that its state, which is not 0, says all of. */
uint64_t elf_damage_random(uint64_t *state);

/* Damages a file in one way or several, and returns its new size, which is never larger. */
size_t elf_damage(uint8_t *bytes, size_t size, uint64_t *state);

#endif
