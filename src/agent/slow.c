#include "agent/slow.h"

#include "agent/process.h"
#include "agent/syscall.h"

#define LOCK_TRIES 1000

static const uint64_t file_size_signal = 1ull << (SIGXFSZ - 1);

void slow_begin(struct slow *slow)
{
	static const uint64_t all = ~0ull;
	uint64_t pending = 0;

	slow->nested = process_system_calls_forbidden();
	if (slow->nested)
		return;
	sys_sigprocmask(SIG_BLOCK, &all, &slow->mask);
	sys_sigpending(&pending);
	slow->file_size_signal_pending = pending & file_size_signal;
}

void slow_end(struct slow *slow)
{
	static const struct timespec now = {0};
	uint64_t pending = 0;

	if (slow->nested || process_system_calls_forbidden())
		return;
	// A write beyond RLIMIT_FSIZE raised it for this thread; the program must not see it.
	sys_sigpending(&pending);
	if (pending & file_size_signal && !slow->file_size_signal_pending)
		sys_sigtimedwait(&file_size_signal, &now);
	sys_sigprocmask(SIG_SETMASK, &slow->mask, 0);
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

void slow_unlock(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}
