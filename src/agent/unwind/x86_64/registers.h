/*
 * x86-64 under the names of arch.h: DWARF's register numbers (System V ABI, figure 3.36) and what
 * the kernel puts where.
 */
#ifndef MALLOW_AGENT_UNWIND_X86_64_REGISTERS_H
#define MALLOW_AGENT_UNWIND_X86_64_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ARCH_ELF_MACHINE 62 /* EM_X86_64 */

/*
 * The ABI's red zone: an interrupted leaf function may keep words up to this far below sp. A step
 * may read as far below, for the fp of a plain rule.
 */
#define ARCH_RED_ZONE 128

#define ARCH_DWARF_FP        6  /* rbp */
#define ARCH_DWARF_SP        7  /* rsp */
#define ARCH_DWARF_PC        16 /* the return address column */
#define ARCH_DWARF_REGISTERS 17

/* A call pushes the return address. */
#define ARCH_LINK_REGISTER 0
#define ARCH_FRAME_PAIRS   0

/* The record of the caller's fp and the return address begins where fp leads to. */
#define ARCH_FRAME_RECORD 0

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

/* The callee-saved registers besides sp and fp: rbx, r12 to r15. */
#define ARCH_TRACKED       (1u << 3 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15)
#define ARCH_TRACKED_COUNT 5

static inline unsigned arch_tracked_index(unsigned n)
{
	return n == 3 ? 0 : n - 11;
}

/*
 * Takes our own registers, at one instruction of the function that this is inlined into: pc, sp and
 * fp into walk, the tracked ones into values.
 */
static inline __attribute__((always_inline)) void arch_take_registers(uint64_t *walk,
								      uint64_t *values)
{
	__asm__ volatile("lea 0f(%%rip), %%rax\n"
			 "0:\tmov %%rax, (%0)\n"
			 "\tmov %%rsp, 8(%0)\n"
			 "\tmov %%rbp, 16(%0)\n"
			 "\tmov %%rbx, (%1)\n"
			 "\tmov %%r12, 8(%1)\n"
			 "\tmov %%r13, 16(%1)\n"
			 "\tmov %%r14, 24(%1)\n"
			 "\tmov %%r15, 32(%1)"
			 :
			 : "r"(walk), "r"(values)
			 : "rax", "memory");
}

/* The address that a word with a return address stands for; the word that pc was read from. */
static inline uint64_t arch_strip(uint64_t word)
{
	return word;
}

static inline uint64_t arch_return_word(uint64_t place, uint64_t pc)
{
	(void)place;
	return pc;
}

/*
 * Whether a call ends before this code: E8 and 4 bytes, or FF /2 and up to 5 bytes, with a prefix.
 * ARCH_CALL_MAX bytes before it can be read.
 */
#define ARCH_CALL_MAX 7

static inline bool arch_is_behind_call(const uint8_t *code)
{
	bool found = code[-5] == 0xe8;

	for (int size = 2; size <= ARCH_CALL_MAX; size++)
		found |= code[-size] == 0xff && (code[1 - size] >> 3 & 7) == 2;
	return found;
}

/*
 * Whether the code is the pair of instructions that returns from a signal handler, as in the C
 * library or in Go. size: how many bytes can be read. Where the code has no unwind table (musl,
 * Go), debuggers know it by these bytes, too.
 */
#define ARCH_SIGNAL_RETURN_MAX 9

static inline bool arch_is_signal_return(const void *code, uint64_t size)
{
	static const uint8_t mov_rax[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t mov_eax[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};

	return (size >= sizeof(mov_rax) && !memcmp(code, mov_rax, sizeof(mov_rax))) ||
	       (size >= sizeof(mov_eax) && !memcmp(code, mov_eax, sizeof(mov_eax)));
}

/*
 * The address of the C library's description of the thread, which lies at the end of the stack that
 * the library made.
 */
static inline uint64_t arch_thread_pointer(void)
{
	uint64_t pointer;

	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

#endif
