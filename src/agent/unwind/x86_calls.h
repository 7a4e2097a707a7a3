/* What x86 of 32 and of 64 bits have in common of unwind/<cpu>/registers.h. */
#ifndef MALLOW_AGENT_UNWIND_X86_CALLS_H
#define MALLOW_AGENT_UNWIND_X86_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* The word that pc was read from. */
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

#endif
