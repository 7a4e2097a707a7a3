#include "agent/slow.h"

#include "agent/own_stack.h"
#include "agent/process.h"
#include "agent/syscall.h"

#define LOCK_TRIES 1000
#define LOCK_NAPS  200
#define NAP_NS     100000 /* the kernel adds 50 us */

// What a write of ours can raise for this thread: beyond RLIMIT_FSIZE, or into a closed pipe.
static const uint64_t own_signals = 1ull << (SIGXFSZ - 1) | 1ull << (SIGPIPE - 1);

static const uint64_t all = ~0ull;

/* Without the signals that are waiting. */
static void begin_quiet(struct slow *slow)
{
	slow->nested = process_system_calls_forbidden();
	if (slow->nested)
		return;
	// Where it fails there is no mask to be restored.
	slow->nested = sys_sigprocmask(SIG_BLOCK, &all, &slow->mask) != 0;
}

static void end_quiet(struct slow *slow)
{
	// Also where another thread has just installed a filter: handlers return by the same right.
	if (!slow->nested)
		sys_sigprocmask(SIG_SETMASK, &slow->mask, 0);
}

void slow_begin(struct slow *slow)
{
	uint64_t pending = 0;

	begin_quiet(slow);
	if (slow->nested)
		return;
	sys_sigpending(&pending);
	slow->pending = pending & own_signals;
}

void slow_end(struct slow *slow)
{
	static const struct timespec now = {0};
	uint64_t pending = 0;
	uint64_t raised;

	// The program must not see them.
	if (!slow->nested && !process_system_calls_forbidden()) {
		sys_sigpending(&pending);
		raised = pending & own_signals & ~slow->pending;
		for (; raised; raised &= raised - 1) {
			uint64_t one = raised & -raised;

			sys_sigtimedwait(&one, &now);
		}
	}
	end_quiet(slow);
}

void slow_call(const struct slow *slow, void (*function)(void *argument), void *argument)
{
	void *stack = slow->nested ? NULL : own_stack_take();

	if (!stack)
		return function(argument);
	own_stack_call(function, argument, stack);
	own_stack_give_back(stack);
}

void slow_run_quiet(void (*function)(void *argument), void *argument)
{
	struct slow slow;

	begin_quiet(&slow);
	slow_call(&slow, function, argument);
	end_quiet(&slow);
}

void slow_run(void (*function)(void *argument), void *argument)
{
	struct slow slow;

	slow_begin(&slow);
	slow_call(&slow, function, argument);
	slow_end(&slow);
}

bool slow_try_lock(uint32_t *lock)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (!__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

bool slow_wait_lock(uint32_t *lock)
{
	static const struct timespec nap = {.tv_nsec = NAP_NS};

	for (int i = 0; i < LOCK_NAPS; i++) {
		if (slow_try_lock(lock))
			return true;
		// Where they are forbidden signals are not blocked: its owner may be below us.
		if (process_system_calls_forbidden())
			return false;
		sys_nanosleep(&nap);
	}
	return false;
}

void slow_unlock(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}
