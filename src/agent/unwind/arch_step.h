/* The step of a walk on this architecture: struct walk, step() and what belongs to them. */
#ifndef MALLOW_AGENT_UNWIND_ARCH_STEP_H
#define MALLOW_AGENT_UNWIND_ARCH_STEP_H

#if defined(__x86_64__)
#include "agent/unwind/x86_64/step.h"
#else
#error "no unwinder for this architecture"
#endif

#endif
