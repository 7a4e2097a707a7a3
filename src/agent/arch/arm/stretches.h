#ifndef MALLOW_AGENT_ARCH_ARM_STRETCHES_H
#define MALLOW_AGENT_ARCH_ARM_STRETCHES_H

#include "agent/arch/narrow_stretches.h"

#endif
