/*
 * What a probe sees of a call: the registers of the architecture, by common names.
 *
 *	REGS_PC, REGS_SP, REGS_FP, REGS_VALUE	fields of struct pt_regs; VALUE is what is returned
 *	regs_arguments()	the first six arguments
 *	regs_link()		the register with the return address; 0: it is on the stack
 *	RETURN_SIZE		the bytes of the stack that a call takes for it
 */
#ifndef MALLOW_EBPF_BPF_REGISTERS_BPF_H
#define MALLOW_EBPF_BPF_REGISTERS_BPF_H

#include "ebpf/bpf/vmlinux.bpf.h"

/* As ARCH_FILE(): agent/arch/cpu.h. */
/* clang-format off */
#define EBPF_FILE(file) <ebpf/arch/MALLOW_CPU/file>
/* clang-format on */

#include EBPF_FILE(registers.bpf.h)

#endif
