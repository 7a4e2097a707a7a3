/*
 * How the entry of a function is patched on this architecture: a file for each one that can
 * (MALLOW_PATCHES). Elsewhere nothing is patched, and cells have no code.
 */
#ifndef MALLOW_ALLOCATORS_ENTRY_H
#define MALLOW_ALLOCATORS_ENTRY_H

#ifdef MALLOW_PATCHES
/* As ARCH_FILE(): agent/arch/cpu.h. */
/* clang-format off */
#define ENTRY_FILE(file) <allocators/MALLOW_CPU/file>
/* clang-format on */
#include ENTRY_FILE(entry.h)
#define ENTRY_IS_PATCHED true
#else
#include <stdint.h>
#define ENTRY_IS_PATCHED false
#define ENTRY_STUB_SIZE  1
#define ENTRY_MOVED_SIZE 1
#define ENTRY_STEPS      1
struct entry_step {
	uint8_t moved, original;
};
#endif

#endif
