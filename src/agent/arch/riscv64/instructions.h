/* See arch/instructions.h. The RISC-V instruction set manual, volume I. */
#ifndef MALLOW_AGENT_ARCH_RISCV64_INSTRUCTIONS_H
#define MALLOW_AGENT_ARCH_RISCV64_INSTRUCTIONS_H

#include "agent/arch/portable_instructions.h"

/* `pause` of Zihintpause, which is a fence without effect where that is missing. */
static inline void arch_pause(void)
{
	__asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010" ::: "memory");
}

/* Linux lets programs read it. */
static inline bool arch_counter_is_steady(void)
{
	return true;
}

static inline void arch_wait_for_loads(void)
{
	__asm__ volatile("fence r, rw" ::: "memory");
}

#endif
