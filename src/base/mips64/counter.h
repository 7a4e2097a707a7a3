/* See base/counter.h. MIPS has none: the one that programs may read has 32 bits, and one in each
 * core. */
#ifndef MALLOW_BASE_MIPS64_COUNTER_H
#define MALLOW_BASE_MIPS64_COUNTER_H

#include <stdint.h>

static inline uint64_t counter_read(void)
{
	return 0;
}

#endif
