/*
 * The machine whose programs are traced, which is our own; what the kernel's programs need of it is
 * in bpf/registers.bpf.h.
 *
 *	MACHINE_NAME		as messages name it
 *	MACHINE_32, MACHINE_NAME_32	ELF's number and the name of its older kind with 32 bits
 *	MACHINE_NARROW		the name of its ABI with pointers of 32 bits
 *	BREAKPOINT, BREAKPOINT_MASK	an instruction that stops the program, and its bits in a
 * word MACHINE_PC		the field of struct user_regs_struct
 */
#ifndef MALLOW_EBPF_ARCH_MACHINE_H
#define MALLOW_EBPF_ARCH_MACHINE_H

#include "cfi/abi.h"

/* As ARCH_FILE(): agent/arch/cpu.h. */
/* clang-format off */
#define MACHINE_FILE(file) <ebpf/arch/MALLOW_CPU/file>
/* clang-format on */

#include MACHINE_FILE(machine.h)

#endif
