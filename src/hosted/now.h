/*
 * CLOCK_MONOTONIC in nanoseconds: for measuring how long something takes. Nobody sets this clock.
 */
#ifndef MALLOW_HOSTED_NOW_H
#define MALLOW_HOSTED_NOW_H

#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
