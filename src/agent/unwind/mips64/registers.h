/*
 * MIPS64 under the names of arch.h: what the agent's own walk needs beside cfi/mips64/abi.h.
 */
#ifndef MALLOW_AGENT_UNWIND_MIPS64_REGISTERS_H
#define MALLOW_AGENT_UNWIND_MIPS64_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* The ABI has no red zone; this is how far below sp a step may read. */
#define ARCH_RED_ZONE 0

/* The loader's goes on into what calls constructors: 172 bytes behind it they return. */
#define ARCH_ENTRY_CODE 192

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

/* Whether a call and its delay slot end before this code: jal, jalr ra, bal and its kin. */
#define ARCH_CALL_MAX 8

static inline bool arch_is_behind_call(const uint8_t *code)
{
	uint32_t word = bytes_load(uint32_t, code - 8);

	return word >> 26 == 3 || (word & 0xfc1ff83f) == 0x0000f809 ||
	       (word & 0xfc1c0000) == 0x04100000;
}

/* What the C library keeps for the thread ends 28 KiB below what the kernel keeps for it. */
static inline uint64_t arch_thread_pointer(void)
{
	uint64_t pointer;

	__asm__("rdhwr %0, $29" : "=r"(pointer));
	return pointer - 0x7000;
}

#endif
