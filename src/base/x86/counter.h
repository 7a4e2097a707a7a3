/* See base/counter.h. */
#ifndef MALLOW_BASE_X86_COUNTER_H
#define MALLOW_BASE_X86_COUNTER_H

#include "base/x86_64/counter.h"

#endif
