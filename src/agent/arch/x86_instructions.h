/* What x86 of 32 and of 64 bits have in common of arch/instructions.h. Intel's manual, volume 2. */
#ifndef MALLOW_AGENT_ARCH_X86_INSTRUCTIONS_COMMON_H
#define MALLOW_AGENT_ARCH_X86_INSTRUCTIONS_COMMON_H

#include <cpuid.h>
#include <stdbool.h>

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

#endif
