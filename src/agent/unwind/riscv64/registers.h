/*
 * RISC-V under the names of arch.h: DWARF's register numbers (the ELF psABI, chapter 4) and what
 * the kernel puts where.
 */
#ifndef MALLOW_AGENT_UNWIND_RISCV64_REGISTERS_H
#define MALLOW_AGENT_UNWIND_RISCV64_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

#define ARCH_ELF_MACHINE 243 /* EM_RISCV */

/* The ABI has no red zone; this is how far below sp a step may read. */
#define ARCH_RED_ZONE 0

#define ARCH_DWARF_PC        1 /* ra */
#define ARCH_DWARF_SP        2
#define ARCH_DWARF_FP        8 /* s0 */
#define ARCH_DWARF_REGISTERS 32

/* A call leaves the return address in ra. Frames keep it at CFA - 8. */
#define ARCH_LINK_REGISTER 1
#define ARCH_FRAME_PAIRS   0

/* The record of the caller's fp and the return address ends where fp leads to. */
#define ARCH_FRAME_RECORD (-16)

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

/* The address that a word with a return address stands for; the word that pc was read from. */
static inline uint64_t arch_strip(uint64_t word)
{
	return word;
}

static inline uint64_t arch_return_word(uint64_t place, uint64_t pc)
{
	return pc;
}

/* Whether a call ends before this code: jal ra, jalr ra, or c.jalr. */
#define ARCH_CALL_MAX 4

static inline bool arch_is_behind_call(const uint8_t *code)
{
	uint32_t word = bytes_u32(code - 4);
	uint32_t half = word >> 16;

	return (word & 0xfff) == 0x0ef || (word & 0x7fff) == 0x00e7 ||
	       ((half & 0xf07f) == 0x9002 && (half & 0x0f80));
}

/*
 * Whether the code is the pair of instructions that returns from a signal handler: li a7, 139;
 * ecall. size: how many bytes can be read.
 */
#define ARCH_SIGNAL_RETURN_MAX 8

static inline bool arch_is_signal_return(const void *code, uint64_t size)
{
	static const uint8_t bytes[] = {0x93, 0x08, 0xb0, 0x08, 0x73, 0x00, 0x00, 0x00};

	return size >= sizeof(bytes) && !memcmp(code, bytes, sizeof(bytes));
}

/* What the C library keeps for the thread lies at the end of the stack that the library made. */
static inline uint64_t arch_thread_pointer(void)
{
	uint64_t pointer;

	__asm__("mv %0, tp" : "=r"(pointer));
	return pointer;
}

#endif
