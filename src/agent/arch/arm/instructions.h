/* See arch/instructions.h. Arm's DDI 0406, "ARM Architecture Reference Manual, ARMv7-A". */
#ifndef MALLOW_AGENT_ARCH_ARM_INSTRUCTIONS_H
#define MALLOW_AGENT_ARCH_ARM_INSTRUCTIONS_H

#include "agent/arch/portable_instructions.h"

/* Older processors have no yield. */
static inline void arch_pause(void)
{
	__asm__ volatile("nop" ::: "memory");
}

/* There is none: base/arm/counter.h. */
static inline bool arch_counter_is_steady(void)
{
	return false;
}

static inline void arch_wait_for_loads(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
