/*
 * AArch64: what its ABI and the kernel say of frames, under the names of cfi/abi.h. DWARF's
 * register numbers: Arm's IHI 0057.
 */
#ifndef MALLOW_CFI_AARCH64_ABI_H
#define MALLOW_CFI_AARCH64_ABI_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_ELF_MACHINE 183 /* EM_AARCH64 */
#define ARCH_WORD        8

#define ARCH_DWARF_FP        29
#define ARCH_DWARF_PC        30 /* the return address column is the link register */
#define ARCH_DWARF_SP        31
#define ARCH_DWARF_REGISTERS 32

/* A call leaves the return address in x30. Frames keep x29 and x30 side by side. */
#define ARCH_LINK_REGISTER 1
#define ARCH_FRAME_PAIRS   1

/* The record of the caller's fp and the return address begins where fp leads to. */
#define ARCH_FRAME_RECORD 0
#define ARCH_FRAME_CHAIN  1

/*
 * On return from a signal handler sp points at a siginfo of 128 bytes, behind it a struct ucontext,
 * whose mcontext begins at 176: the address of the fault, x0 to x30, sp, pc.
 */
#define ARCH_CONTEXT_OFFSET(n) (128 + 176 + 8 + 8 * (n))
#define ARCH_CONTEXT_FP        ARCH_CONTEXT_OFFSET(ARCH_DWARF_FP)
#define ARCH_CONTEXT_SP        ARCH_CONTEXT_OFFSET(31)
#define ARCH_CONTEXT_PC        ARCH_CONTEXT_OFFSET(32)

/* Of DWARF's register n, n < ARCH_CONTEXT_REGISTERS. */
#define ARCH_CONTEXT_REGISTERS 31

static inline unsigned arch_context_offset(unsigned n)
{
	return ARCH_CONTEXT_OFFSET(n);
}

/*
 * The address that a word with a return address stands for: pointer authentication keeps a
 * signature above bit 47.
 */
static inline uint64_t arch_strip(uint64_t word)
{
	return word & ((UINT64_C(1) << 48) - 1);
}

/*
 * Whether the code is the pair of instructions that returns from a signal handler: mov x8, #139;
 * svc #0. The vDSO has it without a table. size: how many bytes can be read.
 */
#define ARCH_SIGNAL_RETURN_MAX 8

static inline unsigned arch_is_signal_return(const void *code, uint64_t size)
{
	static const uint8_t bytes[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

	return size >= sizeof(bytes) && !__builtin_memcmp(code, bytes, sizeof(bytes));
}

#endif
