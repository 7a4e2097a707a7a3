#ifndef MALLOW_AGENT_UNWIND_MIPS64_CALLER_H
#define MALLOW_AGENT_UNWIND_MIPS64_CALLER_H

/* No code of the agent's uses s8 (agent/meson.build): it is always that of the caller. */
#define ARCH_CALLERS_FP()                                                                          \
	__extension__({                                                                            \
		uint64_t fp_;                                                                      \
		__asm__ volatile("move %0, $30" : "=r"(fp_));                                      \
		fp_;                                                                               \
	})

#include "agent/unwind/linked_caller.h"

#endif
