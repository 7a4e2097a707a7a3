/* See arch/instructions.h. Arm's architecture reference manual, DDI 0487. */
#ifndef MALLOW_AGENT_ARCH_AARCH64_INSTRUCTIONS_H
#define MALLOW_AGENT_ARCH_AARCH64_INSTRUCTIONS_H

#include "agent/arch/portable_instructions.h"

static inline void arch_pause(void)
{
	__asm__ volatile("yield" ::: "memory");
}

/* Linux lets programs read it. */
static inline bool arch_counter_is_steady(void)
{
	return true;
}

static inline void arch_wait_for_loads(void)
{
	__asm__ volatile("dmb ishld\n\tisb" ::: "memory");
}

#endif
