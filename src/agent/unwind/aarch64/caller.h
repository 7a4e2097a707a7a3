#ifndef MALLOW_AGENT_UNWIND_AARCH64_CALLER_H
#define MALLOW_AGENT_UNWIND_AARCH64_CALLER_H

#include "agent/unwind/linked_caller.h"

#endif
