/* See arch/instructions.h. Intel's manual, volume 2. */
#ifndef MALLOW_AGENT_ARCH_X86_INSTRUCTIONS_H
#define MALLOW_AGENT_ARCH_X86_INSTRUCTIONS_H

#include "agent/arch/portable_instructions.h"
#include "agent/arch/x86_instructions.h"

/* Processors whose counter is steady have lfence; some older ones of 32 bits have not. */
static inline void arch_wait_for_loads(void)
{
	__asm__ volatile("lfence" ::: "memory");
}

#endif
