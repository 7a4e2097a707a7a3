/* See base/counter.h. The generic timer's virtual count: one rate for all cores. */
#ifndef MALLOW_BASE_AARCH64_COUNTER_H
#define MALLOW_BASE_AARCH64_COUNTER_H

#include <stdint.h>

static inline uint64_t counter_read(void)
{
	uint64_t count;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
	return count;
}

#endif
