/*
 * x86 of 32 bits: what its ABI and the kernel say of frames, under the names of cfi/abi.h. DWARF's
 * register numbers: System V ABI, Intel386 supplement.
 */
#ifndef MALLOW_CFI_X86_ABI_H
#define MALLOW_CFI_X86_ABI_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_ELF_MACHINE 3 /* EM_386 */
#define ARCH_WORD        4

#define ARCH_DWARF_SP        4 /* esp */
#define ARCH_DWARF_FP        5 /* ebp */
#define ARCH_DWARF_PC        8 /* the return address column */
#define ARCH_DWARF_REGISTERS 9

/* A call pushes the return address. */
#define ARCH_LINK_REGISTER 0
#define ARCH_FRAME_PAIRS   0

/* The record of the caller's fp and the return address begins where fp leads to. */
#define ARCH_FRAME_RECORD 0
#define ARCH_FRAME_CHAIN  1

/*
 * On return from a signal handler sp points at its arguments: the signal, two pointers, and struct
 * siginfo, before struct ucontext. Where the handler was told of the signal alone, struct
 * sigcontext is behind that.
 */
#define ARCH_CONTEXT_FP  184
#define ARCH_CONTEXT_SP  188
#define ARCH_CONTEXT_PC  216
#define ARCH_OLD_CONTEXT 156

/* Of DWARF's register n, n < ARCH_CONTEXT_REGISTERS; and of the return address column. */
#define ARCH_CONTEXT_REGISTERS 8

static inline unsigned arch_context_offset(unsigned n)
{
	static const uint8_t offsets[] = {204, 200, 196, 192, 188, 184, 180, 176, ARCH_CONTEXT_PC};

	return offsets[n];
}

/* The address that a word with a return address stands for. */
static inline uint64_t arch_strip(uint64_t word)
{
	return word;
}

/* By which musl's handlers return; the vDSO has tables. */
#define ARCH_SIGNAL_RETURN_MAX 8

static inline unsigned arch_is_signal_return(const void *code, uint64_t size)
{
	static const uint8_t now[] = {0xb8, 173, 0, 0, 0, 0xcd, 0x80};
	static const uint8_t old[] = {0x58, 0xb8, 119, 0, 0, 0, 0xcd, 0x80};

	if (size >= sizeof(now) && !__builtin_memcmp(code, now, sizeof(now)))
		return 1;
	return size >= sizeof(old) && !__builtin_memcmp(code, old, sizeof(old)) ? 2 : 0;
}

#endif
