#ifndef MALLOW_AGENT_UNWIND_X86_CALLER_H
#define MALLOW_AGENT_UNWIND_X86_CALLER_H

#include "agent/unwind/pushed_caller.h"

#endif
