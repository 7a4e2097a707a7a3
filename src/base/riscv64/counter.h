/* See base/counter.h. The timer: one rate for all cores. */
#ifndef MALLOW_BASE_RISCV64_COUNTER_H
#define MALLOW_BASE_RISCV64_COUNTER_H

#include <stdint.h>

static inline uint64_t counter_read(void)
{
	uint64_t count;

	__asm__ volatile("rdtime %0" : "=r"(count));
	return count;
}

#endif
