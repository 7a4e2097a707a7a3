/*
 * x86-64 under the names of arch.h: what the agent's own walk needs beside cfi/x86_64/abi.h.
 */
#ifndef MALLOW_AGENT_UNWIND_X86_64_REGISTERS_H
#define MALLOW_AGENT_UNWIND_X86_64_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/x86_calls.h"

/*
 * The ABI's red zone: an interrupted leaf function may keep words up to this far below sp. A step
 * may read as far below, for the fp of a plain rule.
 */
#define ARCH_RED_ZONE 128

/* The callee-saved registers besides sp and fp: rbx, r12 to r15. */
#define ARCH_TRACKED       (1u << 3 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15)
#define ARCH_TRACKED_COUNT 5

static inline unsigned arch_tracked_index(unsigned n)
{
	return n == 3 ? 0 : n - 11;
}

/*
 * Takes our own registers, at one instruction of the function that this is inlined into: pc, sp and
 * fp into walk, the tracked ones into values.
 */
static inline __attribute__((always_inline)) void arch_take_registers(uint64_t *walk,
								      uint64_t *values)
{
	__asm__ volatile("lea 0f(%%rip), %%rax\n"
			 "0:\tmov %%rax, (%0)\n"
			 "\tmov %%rsp, 8(%0)\n"
			 "\tmov %%rbp, 16(%0)\n"
			 "\tmov %%rbx, (%1)\n"
			 "\tmov %%r12, 8(%1)\n"
			 "\tmov %%r13, 16(%1)\n"
			 "\tmov %%r14, 24(%1)\n"
			 "\tmov %%r15, 32(%1)"
			 :
			 : "r"(walk), "r"(values)
			 : "rax", "memory");
}

/*
 * The address of the C library's description of the thread, which lies at the end of the stack that
 * the library made.
 */
static inline uint64_t arch_thread_pointer(void)
{
	uint64_t pointer;

	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

#endif
