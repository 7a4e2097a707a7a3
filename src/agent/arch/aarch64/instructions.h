/* See arch/instructions.h. Arm's architecture reference manual, DDI 0487. */
#ifndef MALLOW_AGENT_ARCH_AARCH64_INSTRUCTIONS_H
#define MALLOW_AGENT_ARCH_AARCH64_INSTRUCTIONS_H

#include "agent/arch/portable_instructions.h"

static inline void arch_pause(void)
{
	__asm__ volatile("yield" ::: "memory");
}

/* The generic timer's virtual count: one rate for all cores, and Linux lets programs read it. */
static inline bool arch_counter_is_steady(void)
{
	return true;
}

static inline uint64_t arch_counter(void)
{
	uint64_t count;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
	return count;
}

static inline void arch_wait_for_loads(void)
{
	__asm__ volatile("dmb ishld\n\tisb" ::: "memory");
}

#endif
