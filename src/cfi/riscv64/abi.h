/*
 * RISC-V: what its ABI and the kernel say of frames, under the names of cfi/abi.h. DWARF's register
 * numbers: the ELF psABI, chapter 4.
 */
#ifndef MALLOW_CFI_RISCV64_ABI_H
#define MALLOW_CFI_RISCV64_ABI_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_ELF_MACHINE 243 /* EM_RISCV */
#define ARCH_WORD        8

#define ARCH_DWARF_PC        1 /* ra */
#define ARCH_DWARF_SP        2
#define ARCH_DWARF_FP        8 /* s0 */
#define ARCH_DWARF_REGISTERS 32

/* A call leaves the return address in ra. Frames keep it at CFA - 8. */
#define ARCH_LINK_REGISTER 1
#define ARCH_FRAME_PAIRS   0

/* The record of the caller's fp and the return address ends where fp leads to. */
#define ARCH_FRAME_RECORD (-16)
#define ARCH_FRAME_CHAIN  1

/*
 * On return from a signal handler sp points at a siginfo of 128 bytes, behind it a struct ucontext,
 * whose mcontext begins at 176: pc, x1 to x31.
 */
#define ARCH_CONTEXT_OFFSET(n) (128 + 176 + 8 * (n))
#define ARCH_CONTEXT_FP        ARCH_CONTEXT_OFFSET(ARCH_DWARF_FP)
#define ARCH_CONTEXT_SP        ARCH_CONTEXT_OFFSET(ARCH_DWARF_SP)
#define ARCH_CONTEXT_PC        ARCH_CONTEXT_OFFSET(0)

/* Of DWARF's register n, n < ARCH_CONTEXT_REGISTERS. */
#define ARCH_CONTEXT_REGISTERS 32

static inline unsigned arch_context_offset(unsigned n)
{
	return ARCH_CONTEXT_OFFSET(n);
}

/* The address that a word with a return address stands for. */
static inline uint64_t arch_strip(uint64_t word)
{
	return word;
}

/*
 * Whether the code is the pair of instructions that returns from a signal handler: li a7, 139;
 * ecall. size: how many bytes can be read.
 */
#define ARCH_SIGNAL_RETURN_MAX 8

static inline unsigned arch_is_signal_return(const void *code, uint64_t size)
{
	static const uint8_t bytes[] = {0x93, 0x08, 0xb0, 0x08, 0x73, 0x00, 0x00, 0x00};

	return size >= sizeof(bytes) && !__builtin_memcmp(code, bytes, sizeof(bytes));
}

#endif
