/*
 * ARM, its EABI with Thumb and ARM code: what that and the kernel say of frames, under the names of
 * cfi/abi.h. DWARF's register numbers: Arm's IHI 0040. They are the machine's.
 */
#ifndef MALLOW_CFI_ARM_ABI_H
#define MALLOW_CFI_ARM_ABI_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_ELF_MACHINE 40 /* EM_ARM */
#define ARCH_WORD        4

/* Thumb code makes its frames by r7, ARM code by r11: that one is ARCH_DWARF_FP2. */
#define ARCH_DWARF_FP        7
#define ARCH_DWARF_FP2       11
#define ARCH_DWARF_SP        13
#define ARCH_DWARF_PC        14 /* the return address column is the link register */
#define ARCH_DWARF_REGISTERS 16

/* A call leaves the return address in lr. Frames keep it at CFA - 4 or, under floats, below. */
#define ARCH_LINK_REGISTER 1
#define ARCH_FRAME_PAIRS   0

/* Frames are no chain: r7 leads to the frame's bottom, or is not kept at all. */
#define ARCH_FRAME_RECORD 0
#define ARCH_FRAME_CHAIN  0

/*
 * On return from a handler with SA_SIGINFO sp points at a siginfo of 128 bytes, behind it a struct
 * ucontext, whose mcontext begins at 20: three words, r0 to r15. Other handlers have no siginfo.
 */
#define ARCH_OLD_CONTEXT       128
#define ARCH_CONTEXT_OFFSET(n) (ARCH_OLD_CONTEXT + 20 + 12 + 4 * (n))
#define ARCH_CONTEXT_FP        ARCH_CONTEXT_OFFSET(ARCH_DWARF_FP)
#define ARCH_CONTEXT_SP        ARCH_CONTEXT_OFFSET(ARCH_DWARF_SP)
#define ARCH_CONTEXT_PC        ARCH_CONTEXT_OFFSET(15)

/* Of DWARF's register n, n < ARCH_CONTEXT_REGISTERS. */
#define ARCH_CONTEXT_REGISTERS 15

static inline unsigned arch_context_offset(unsigned n)
{
	return ARCH_CONTEXT_OFFSET(n);
}

/* The address that a word with a return address stands for: bit 0 says that Thumb code goes on. */
static inline uint64_t arch_strip(uint64_t word)
{
	return word & ~UINT64_C(1);
}

/*
 * Whether the code is what returns from a signal handler: a move of a call's number to r7, and svc.
 * 1: rt_sigreturn, 173, for handlers with SA_SIGINFO; 2: sigreturn, 119. The C library's is Thumb
 * code of 6 bytes, the kernel's own page has ARM code and Thumb code of 4, with or without the
 * number in svc. size: how many bytes can be read.
 */
#define ARCH_SIGNAL_RETURN_MAX 8

static inline unsigned arch_is_signal_return(const void *code, uint64_t size)
{
	uint16_t halves[4] = {0};
	uint32_t number;
	bool calls;

	__builtin_memcpy(halves, code, size < sizeof(halves) ? size : sizeof(halves));
	number = halves[0] & 0xff;
	if (halves[0] == 0xf04f) {
		number = halves[1] - 0x0700u;
		calls = halves[2] == 0xdf00;
	} else if (halves[0] >> 8 == 0x27) {
		calls = halves[1] == 0xdf00;
	} else {
		calls = halves[0] >> 8 == 0x70 && halves[1] == 0xe3a0 && halves[3] >> 8 == 0xef;
	}
	return !calls ? 0 : number == 173 ? 1 : number == 119 ? 2 : 0;
}

#endif
