/* How the entry of a function is patched on this architecture. */
#ifndef MALLOW_ALLOCATORS_ENTRY_H
#define MALLOW_ALLOCATORS_ENTRY_H

/* As ARCH_FILE(): agent/arch/cpu.h. */
/* clang-format off */
#define ENTRY_FILE(file) <allocators/MALLOW_CPU/file>
/* clang-format on */
#include ENTRY_FILE(entry.h)

#endif
