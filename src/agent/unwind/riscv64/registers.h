/*
 * RISC-V under the names of arch.h: what the agent's own walk needs beside cfi/riscv64/abi.h.
 */
#ifndef MALLOW_AGENT_UNWIND_RISCV64_REGISTERS_H
#define MALLOW_AGENT_UNWIND_RISCV64_REGISTERS_H

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

/* The word that pc was read from. */
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

/* What the C library keeps for the thread lies at the end of the stack that the library made. */
static inline uint64_t arch_thread_pointer(void)
{
	uint64_t pointer;

	__asm__("mv %0, tp" : "=r"(pointer));
	return pointer;
}

#endif
