/*
 * ARM under the names of arch.h: what the agent's own walk needs beside cfi/arm/abi.h.
 */
#ifndef MALLOW_AGENT_UNWIND_ARM_REGISTERS_H
#define MALLOW_AGENT_UNWIND_ARM_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* The ABI has no red zone; this is how far below sp a step may read. */
#define ARCH_RED_ZONE 0

/* r4 to r11, without r7: ARM code makes frames by r11, hand-written code by r4. */
#define ARCH_TRACKED       0xf70u
#define ARCH_TRACKED_COUNT 8

static inline unsigned arch_tracked_index(unsigned n)
{
	return n - 4;
}

/*
 * Takes our own registers, at one instruction of the function that this is inlined into: pc, sp and
 * fp into walk, the tracked ones into values.
 */
static inline __attribute__((always_inline)) void arch_take_registers(uint64_t *walk,
								      uint64_t *values)
{
	uint32_t taken[11];

	__asm__ volatile("adr r0, 0f\n"
			 "0:\tstr r0, [%0]\n"
			 "\tstr sp, [%0, #4]\n"
			 "\tstr r7, [%0, #8]\n"
			 "\tstr r4, [%0, #12]\n"
			 "\tstr r5, [%0, #16]\n"
			 "\tstr r6, [%0, #20]\n"
			 "\tstr r8, [%0, #28]\n"
			 "\tstr r9, [%0, #32]\n"
			 "\tstr r10, [%0, #36]\n"
			 "\tstr r11, [%0, #40]"
			 :
			 : "r"(taken)
			 : "r0", "memory");
	for (unsigned i = 0; i < 3; i++)
		walk[i] = taken[i];
	for (unsigned i = 0; i < ARCH_TRACKED_COUNT; i++)
		values[i] = taken[3 + i];
}

/* The word that pc was read from: Thumb code's has bit 0. */
static inline uint64_t arch_return_word(uint64_t place, uint64_t pc)
{
	(void)pc;
	return bytes_load(uint32_t, (const void *)(uintptr_t)place);
}

/*
 * Whether a call ends before this code: bl and blx, as ARM's (of any condition), as Thumb's of two
 * halves, or blx of a register. mov lr, pc before a jump, too.
 */
#define ARCH_CALL_MAX 8

static inline bool arch_is_behind_call(const uint8_t *code)
{
	uint32_t word = bytes_load(uint32_t, code - 4), before = bytes_load(uint32_t, code - 8);
	uint32_t high = word & 0xffff, low = word >> 16;

	if (word == 0xe320f000) // ARM's nop, before glibc's code where contexts end
		return false;
	return (high >> 11 == 0x1e && (low & 0xc000) == 0xc000) || (low & 0xff87) == 0x4780 ||
	       (word >> 24 & 15) == 11 || word >> 25 == 0x7d || (word & 0x0ffffff0) == 0x012fff30 ||
	       before == 0xe1a0e00f;
}

/*
 * Where functions of new threads return to, which no table says: the call is exit, 1. Of libraries,
 * as Thumb code, and as ARM code.
 */
#define ARCH_CONTEXT_END 8

static inline bool arch_is_context_end(const uint8_t *code)
{
	static const uint8_t ends[][8] = {{0x4f, 0xf0, 1, 7, 0, 0xdf},
					  {1, 0x27, 0, 0xdf},
					  {1, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef}};

	return !__builtin_memcmp(code, ends[0], 6) || !__builtin_memcmp(code, ends[1], 4) ||
	       !__builtin_memcmp(code, ends[2], 8);
}

/* What the C library keeps for the thread ends 8 bytes behind what this leads to. */
static inline uint64_t arch_thread_pointer(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

#endif
