/* The step of a walk on this architecture: struct walk, step() and what belongs to them. */
#ifndef MALLOW_AGENT_UNWIND_ARCH_STEP_H
#define MALLOW_AGENT_UNWIND_ARCH_STEP_H

#include "agent/unwind/arch.h"

#include UNWIND_FILE(step.h)

#endif
