/* The machine whose programs are traced. The names are those of ebpf/arch/machine.h. */
#ifndef MALLOW_EBPF_ARCH_AARCH64_MACHINE_H
#define MALLOW_EBPF_ARCH_AARCH64_MACHINE_H

#include <elf.h>

#define MACHINE_NAME    "AArch64"
#define MACHINE_32      EM_ARM
#define MACHINE_NAME_32 "arm"
#define MACHINE_NARROW  "ilp32"

#define BREAKPOINT      0xd4200000ul /* brk #0 */
#define BREAKPOINT_MASK 0xfffffffful
#define MACHINE_PC      pc

#endif
