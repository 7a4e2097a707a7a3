/*
 * AArch64 under the names of arch.h: DWARF's register numbers (Arm's IHI 0057) and what the kernel
 * puts where.
 */
#ifndef MALLOW_AGENT_UNWIND_AARCH64_REGISTERS_H
#define MALLOW_AGENT_UNWIND_AARCH64_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

#define ARCH_ELF_MACHINE 183 /* EM_AARCH64 */

/* The ABI has no red zone; this is how far below sp a step may read. */
#define ARCH_RED_ZONE 0

#define ARCH_DWARF_FP        29
#define ARCH_DWARF_PC        30 /* the return address column is the link register */
#define ARCH_DWARF_SP        31
#define ARCH_DWARF_REGISTERS 32

/* A call leaves the return address in x30. Frames keep x29 and x30 side by side. */
#define ARCH_LINK_REGISTER 1
#define ARCH_FRAME_PAIRS   1

/* The record of the caller's fp and the return address begins where fp leads to. */
#define ARCH_FRAME_RECORD 0

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

/* No function of Debian's needs another register than sp and fp to find its caller. */
#define ARCH_TRACKED       0u
#define ARCH_TRACKED_COUNT 1 /* C has no array of none */

static inline unsigned arch_tracked_index(unsigned n)
{
	return 0;
}

static inline void arch_take_registers(uint64_t *walk, uint64_t *values)
{
}

/*
 * The address that a word with a return address stands for: pointer authentication keeps a
 * signature above bit 47. And the word, of which pc was read.
 */
static inline uint64_t arch_strip(uint64_t word)
{
	return word & ((UINT64_C(1) << 48) - 1);
}

static inline uint64_t arch_return_word(uint64_t place, uint64_t pc)
{
	return bytes_u64((const void *)place);
}

/* Whether a call ends before this code: bl, blr, or blr that authenticates (blraa and its kin). */
#define ARCH_CALL_MAX 4

static inline bool arch_is_behind_call(const uint8_t *code)
{
	uint32_t word = bytes_u32(code - 4);

	return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000 ||
	       (word & 0xfefff800) == 0xd63f0800;
}

/*
 * Whether the code is the pair of instructions that returns from a signal handler: mov x8, #139;
 * svc #0. The vDSO has it without a table. size: how many bytes can be read.
 */
#define ARCH_SIGNAL_RETURN_MAX 8

static inline bool arch_is_signal_return(const void *code, uint64_t size)
{
	static const uint8_t bytes[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

	return size >= sizeof(bytes) && !memcmp(code, bytes, sizeof(bytes));
}

/*
 * The address of the C library's description of the thread, which lies at the end of the stack that
 * the library made.
 */
static inline uint64_t arch_thread_pointer(void)
{
	uint64_t pointer;

	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
	return pointer;
}

#endif
