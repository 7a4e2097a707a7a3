/*
 * x86-64: what its ABI and the kernel say of frames, under the names of cfi/abi.h. DWARF's register
 * numbers: System V ABI, figure 3.36.
 */
#ifndef MALLOW_CFI_X86_64_ABI_H
#define MALLOW_CFI_X86_64_ABI_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_ELF_MACHINE 62 /* EM_X86_64 */
#define ARCH_WORD        8

#define ARCH_DWARF_FP        6  /* rbp */
#define ARCH_DWARF_SP        7  /* rsp */
#define ARCH_DWARF_PC        16 /* the return address column */
#define ARCH_DWARF_REGISTERS 17

/* A call pushes the return address. */
#define ARCH_LINK_REGISTER 0
#define ARCH_FRAME_PAIRS   0

/* The record of the caller's fp and the return address begins where fp leads to. */
#define ARCH_FRAME_RECORD 0
#define ARCH_FRAME_CHAIN  1

/*
 * On return from a signal handler sp points at a struct ucontext. These are the offsets in bytes of
 * the interrupted registers in it.
 */
#define ARCH_CONTEXT_FP 120
#define ARCH_CONTEXT_SP 160
#define ARCH_CONTEXT_PC 168

/* Of DWARF's register n, n < ARCH_CONTEXT_REGISTERS; and of the return address column. */
#define ARCH_CONTEXT_REGISTERS 16

static inline unsigned arch_context_offset(unsigned n)
{
	static const uint8_t offsets[] = {
		[0] = 144,
		[1] = 136,
		[2] = 152,
		[3] = 128,
		[4] = 112,
		[5] = 104,
		[6] = 120,
		[7] = 160,
		[8] = 40,
		[9] = 48,
		[10] = 56,
		[11] = 64,
		[12] = 72,
		[13] = 80,
		[14] = 88,
		[15] = 96,
		[16] = ARCH_CONTEXT_PC,
	};

	return offsets[n];
}

/* The address that a word with a return address stands for. */
static inline uint64_t arch_strip(uint64_t word)
{
	return word;
}

/*
 * Whether the code is the pair of instructions that returns from a signal handler, as in the C
 * library or in Go. size: how many bytes can be read. Where the code has no unwind table (musl,
 * Go), debuggers know it by these bytes, too.
 */
#define ARCH_SIGNAL_RETURN_MAX 9

static inline unsigned arch_is_signal_return(const void *code, uint64_t size)
{
	static const uint8_t mov_rax[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t mov_eax[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};

	return (size >= sizeof(mov_rax) && !__builtin_memcmp(code, mov_rax, sizeof(mov_rax))) ||
	       (size >= sizeof(mov_eax) && !__builtin_memcmp(code, mov_eax, sizeof(mov_eax)));
}

#endif
