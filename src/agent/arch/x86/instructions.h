/* See arch/instructions.h. Intel's manual, volume 2. */
#ifndef MALLOW_AGENT_ARCH_X86_INSTRUCTIONS_H
#define MALLOW_AGENT_ARCH_X86_INSTRUCTIONS_H

#include <cpuid.h>

#include "agent/arch/portable_instructions.h"

static inline void arch_pause(void)
{
	__builtin_ia32_pause();
}

/* Bit 8 of edx in leaf 0x80000007: invariant TSC, the same rate in all power states. */
static inline bool arch_counter_is_steady(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

/* Any serialised instruction: old processors have no lfence. */
static inline void arch_wait_for_loads(void)
{
	__asm__ volatile("lock orl $0, (%%esp)" ::: "memory", "cc");
}

#endif
