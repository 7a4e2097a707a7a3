#ifndef MALLOW_AGENT_UNWIND_ARM_CALLER_H
#define MALLOW_AGENT_UNWIND_ARM_CALLER_H

/* No code of the agent's uses r7 (agent/meson.build): it is always that of the caller. */
#define ARCH_CALLERS_FP()                                                                          \
	__extension__({                                                                            \
		uint32_t fp_;                                                                      \
		__asm__ volatile("mov %0, r7" : "=r"(fp_));                                        \
		fp_;                                                                               \
	})

#define ARCH_RETURN_ADDRESS() arch_strip((uintptr_t)__builtin_return_address(0))

#include "agent/unwind/linked_caller.h"
#include "cfi/abi.h"

#endif
