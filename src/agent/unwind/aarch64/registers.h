/*
 * AArch64 under the names of arch.h: what the agent's own walk needs beside cfi/aarch64/abi.h.
 */
#ifndef MALLOW_AGENT_UNWIND_AARCH64_REGISTERS_H
#define MALLOW_AGENT_UNWIND_AARCH64_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* The ABI has no red zone; this is how far below sp a step may read. */
#define ARCH_RED_ZONE 0

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

/* The word that pc was read from: with its signature, which comparisons need. */
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
