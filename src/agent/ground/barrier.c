#include "agent/ground/barrier.h"

#include <linux/membarrier.h>

#include "agent/arch/syscall.h"

// Whether the kernel was asked to make membarrier() cheap for this process; kept across fork.
static enum { BARRIER_UNKNOWN, BARRIER_READY, BARRIER_NONE } state;

void barrier_prepare(void)
{
	if (state == BARRIER_UNKNOWN)
		state = sys_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0
				? BARRIER_READY
				: BARRIER_NONE;
}

bool barrier_pass_others(void)
{
	return state == BARRIER_READY && sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}
