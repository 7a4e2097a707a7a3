/* The machine whose programs are traced. The names are those of ebpf/arch/machine.h. */
#ifndef MALLOW_EBPF_ARCH_X86_64_MACHINE_H
#define MALLOW_EBPF_ARCH_X86_64_MACHINE_H

#include <elf.h>

#define MACHINE_NAME    "x86-64"
#define MACHINE_32      EM_386
#define MACHINE_NAME_32 "i386"
#define MACHINE_NARROW  "x32"

#define BREAKPOINT      0xccul /* int3 */
#define BREAKPOINT_MASK 0xfful
#define MACHINE_PC      rip

#endif
