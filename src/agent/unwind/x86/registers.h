/*
 * x86 of 32 bits under the names of arch.h: what the agent's own walk needs beside cfi/x86/abi.h.
 */
#ifndef MALLOW_AGENT_UNWIND_X86_REGISTERS_H
#define MALLOW_AGENT_UNWIND_X86_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/x86_calls.h"

/* The ABI has no red zone; this is how far below sp a step may read. */
#define ARCH_RED_ZONE 0

/* The callee-saved registers besides sp and fp: ebx, esi, edi. */
#define ARCH_TRACKED       (1u << 3 | 1u << 6 | 1u << 7)
#define ARCH_TRACKED_COUNT 3

static inline unsigned arch_tracked_index(unsigned n)
{
	return n == 3 ? 0 : n - 5;
}

/*
 * Takes our own registers, at one instruction of the function that this is inlined into: pc, sp and
 * fp into walk, the tracked ones into values.
 */
static inline __attribute__((always_inline)) void arch_take_registers(uint64_t *walk,
								      uint64_t *values)
{
	__asm__ volatile("call 0f\n"
			 "0:\tpop %%eax\n"
			 "\tmov %%eax, (%0)\n"
			 "\tmov %%esp, 8(%0)\n"
			 "\tmov %%ebp, 16(%0)\n"
			 "\tmov %%ebx, (%1)\n"
			 "\tmov %%esi, 8(%1)\n"
			 "\tmov %%edi, 16(%1)"
			 :
			 : "r"(walk), "r"(values)
			 : "eax", "memory");
	for (unsigned i = 0; i < 3; i++) {
		walk[i] = (uint32_t)walk[i];
		values[i] = (uint32_t)values[i];
	}
}

/*
 * Where functions of makecontext() return to in glibc, which no table says: lea (esp,ebx,4), esp
 * behind makecontext() itself.
 */
#define ARCH_CONTEXT_END 3

static inline bool arch_is_context_end(const uint8_t *code)
{
	return code[0] == 0x8d && code[1] == 0x24 && code[2] == 0x9c;
}

/*
 * The address of the C library's description of the thread, which lies at the end of the stack that
 * the library made.
 */
static inline uint64_t arch_thread_pointer(void)
{
	uint32_t pointer;

	__asm__("mov %%gs:0, %0" : "=r"(pointer));
	return pointer;
}

#endif
