/* The limit of descriptors of this process. */
#ifndef MALLOW_HOSTED_DESCRIPTORS_H
#define MALLOW_HOSTED_DESCRIPTORS_H

#include <sys/resource.h>

/*
 * Raises the limit as far as is allowed without privilege, and returns it. Programs that are
 * started afterwards inherit it. 0: the limit cannot be read.
 */
static inline rlim_t descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur;
}

#endif
