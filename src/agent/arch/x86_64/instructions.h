/* See arch/instructions.h. Intel's manual, volume 2. */
#ifndef MALLOW_AGENT_ARCH_X86_64_INSTRUCTIONS_H
#define MALLOW_AGENT_ARCH_X86_64_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/arch/x86_instructions.h"

static inline void arch_wait_for_loads(void)
{
	__asm__ volatile("lfence" ::: "memory");
}

static inline void arch_copy(void *to, const void *from, size_t size)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

static inline void arch_fill(void *to, int value, size_t size)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(value) : "memory");
}

static inline void arch_add(uint64_t *sum, uint64_t value)
{
	__asm__("addq %1, %0" : "+m"(*sum) : "er"(value) : "cc");
}

/* Returns the sum as it was before. */
static inline uint64_t arch_fetch_add(uint64_t *sum, uint64_t value)
{
	__asm__("xaddq %0, %1" : "+r"(value), "+m"(*sum) : : "cc");
	return value;
}

static inline bool arch_exchange_if(uint64_t *word, uint64_t *before, uint64_t value)
{
	bool ret;

	__asm__("cmpxchgq %3, %1" : "=@ccz"(ret), "+m"(*word), "+a"(*before) : "r"(value));
	return ret;
}

#endif
