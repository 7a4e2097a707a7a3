/* The files of this room that each architecture has, in a folder of its name. */
#ifndef MALLOW_AGENT_ARCH_CPU_H
#define MALLOW_AGENT_ARCH_CPU_H

/*
 * #include ARCH_FILE(machine.h): that of the architecture that is compiled for. MALLOW_CPU is
 * Meson's name of it, and the folder's: x86_64.
 */
/* clang-format off */
#define ARCH_FILE(file) <agent/arch/MALLOW_CPU/file>
/* clang-format on */

#endif
