/* See arch/instructions.h. MIPS64's architecture, volume II (MD00087). */
#ifndef MALLOW_AGENT_ARCH_MIPS64_INSTRUCTIONS_H
#define MALLOW_AGENT_ARCH_MIPS64_INSTRUCTIONS_H

#include "agent/arch/portable_instructions.h"

static inline void arch_pause(void)
{
	__asm__ volatile("pause" ::: "memory");
}

/* There is none that is: base/mips64/counter.h. */
static inline bool arch_counter_is_steady(void)
{
	return false;
}

static inline void arch_wait_for_loads(void)
{
	__asm__ volatile("sync" ::: "memory");
}

#endif
