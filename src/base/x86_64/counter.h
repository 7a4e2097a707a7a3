/* See base/counter.h. The time stamp counter. */
#ifndef MALLOW_BASE_X86_64_COUNTER_H
#define MALLOW_BASE_X86_64_COUNTER_H

#include <stdint.h>

static inline uint64_t counter_read(void)
{
	return __builtin_ia32_rdtsc();
}

#endif
