/*
 * MIPS64, its n64 ABI: what that and the kernel say of frames, under the names of cfi/abi.h.
 * DWARF's register numbers are the machine's.
 */
#ifndef MALLOW_CFI_MIPS64_ABI_H
#define MALLOW_CFI_MIPS64_ABI_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_ELF_MACHINE 8 /* EM_MIPS */
#define ARCH_WORD        8

#define ARCH_DWARF_SP        29
#define ARCH_DWARF_FP        30 /* s8: at the frame's bottom, where it is kept at all */
#define ARCH_DWARF_PC        31 /* ra */
#define ARCH_DWARF_REGISTERS 32

/* A call leaves the return address in ra. Frames keep it anywhere, most at CFA - 8. */
#define ARCH_LINK_REGISTER 1
#define ARCH_FRAME_PAIRS   0

/* Frames are no chain: the word that fp leads to is the frame's own. */
#define ARCH_FRAME_RECORD 0
#define ARCH_FRAME_CHAIN  0

/*
 * On return from a signal handler sp points at 24 bytes, a siginfo of 128, and a struct ucontext,
 * whose mcontext begins at 40: 32 registers, 32 of floating point, eight words, pc.
 */
#define ARCH_CONTEXT_OFFSET(n) (24 + 128 + 40 + 8 * (n))
#define ARCH_CONTEXT_FP        ARCH_CONTEXT_OFFSET(ARCH_DWARF_FP)
#define ARCH_CONTEXT_SP        ARCH_CONTEXT_OFFSET(ARCH_DWARF_SP)
#define ARCH_CONTEXT_PC        ARCH_CONTEXT_OFFSET(32 + 32 + 8)

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
 * Whether the code is the pair of instructions that returns from a signal handler: li v0, 5211;
 * syscall. size: how many bytes can be read.
 */
#define ARCH_SIGNAL_RETURN_MAX 8

static inline unsigned arch_is_signal_return(const void *code, uint64_t size)
{
	static const uint32_t words[] = {0x2402145b, 0x0000000c};

	return size >= sizeof(words) && !__builtin_memcmp(code, words, sizeof(words));
}

#endif
