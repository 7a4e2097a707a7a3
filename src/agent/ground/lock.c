#include "agent/ground/lock.h"

#include <linux/membarrier.h>

#include "agent/arch/instructions.h"
#include "agent/arch/syscall.h"
#include "agent/ground/state.h"

#define LOCK_TRIES 1000
#define LOCK_NAPS  200
#define NAP_NS     100000 /* the kernel adds 50 us */

bool lock_try(uint32_t *lock)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (!__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
			return true;
		arch_pause();
	}
	return false;
}

bool lock_wait(uint32_t *lock)
{
	static const struct kernel_time nap = {.tv_nsec = NAP_NS};

	for (int i = 0; i < LOCK_NAPS; i++) {
		if (lock_try(lock))
			return true;
		// If system calls are forbidden, signals are not blocked: this handler may have
		// interrupted the owner.
		if (process_system_calls_forbidden())
			return false;
		sys_nanosleep(&nap);
	}
	return false;
}

void lock_release(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

// Whether the kernel was asked to make membarrier() cheap for this process; kept across fork.
static enum { BARRIER_UNKNOWN, BARRIER_READY, BARRIER_NONE } barrier;

void barrier_prepare(void)
{
	if (barrier == BARRIER_UNKNOWN)
		barrier = sys_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0
				  ? BARRIER_READY
				  : BARRIER_NONE;
}

bool barrier_pass_others(void)
{
	return barrier == BARRIER_READY && sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}
