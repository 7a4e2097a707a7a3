#include "agent/ground/signal_bracket.h"

#include "agent/arch/own_stack_call.h"
#include "agent/arch/syscall.h"
#include "agent/ground/own_stack.h"
#include "agent/ground/state.h"

// Signals that a write of ours can raise in this thread: beyond RLIMIT_FSIZE, or into a closed
// pipe.
static const uint64_t own_signals = 1ull << (SIGXFSZ - 1) | 1ull << (SIGPIPE - 1);

static const uint64_t all = ~0ull;

/* Blocks all signals, without a look at those that are pending. */
static void begin_quiet(struct signal_bracket *bracket)
{
	bracket->nested = process_system_calls_forbidden();
	if (bracket->nested)
		return;
	// If it fails there is no mask to restore.
	bracket->nested = sys_sigprocmask(SIG_BLOCK, &all, &bracket->mask) != 0;
}

static void end_quiet(struct signal_bracket *bracket)
{
	// Even if another thread has just installed a seccomp filter: this call is allowed, since
	// handlers return by it.
	if (!bracket->nested)
		sys_sigprocmask(SIG_SETMASK, &bracket->mask, 0);
}

void signal_bracket_begin(struct signal_bracket *bracket)
{
	uint64_t pending = 0;

	begin_quiet(bracket);
	if (bracket->nested)
		return;
	sys_sigpending(&pending);
	bracket->pending = pending & own_signals;
}

void signal_bracket_end(struct signal_bracket *bracket)
{
	static const struct timespec now = {0};
	uint64_t pending = 0;
	uint64_t raised;

	// The program must not see the signals that we raised.
	if (!bracket->nested && !process_system_calls_forbidden()) {
		sys_sigpending(&pending);
		raised = pending & own_signals & ~bracket->pending;
		for (; raised; raised &= raised - 1) {
			uint64_t one = raised & -raised;

			sys_sigtimedwait(&one, &now);
		}
	}
	end_quiet(bracket);
}

void signal_bracket_call(const struct signal_bracket *bracket, void (*function)(void *argument),
			 void *argument)
{
	void *stack = bracket->nested ? NULL : own_stack_take();

	if (!stack)
		return function(argument);
	own_stack_call(function, argument, stack);
	own_stack_give_back(stack);
}

void signal_bracket_run_quiet(void (*function)(void *argument), void *argument)
{
	struct signal_bracket bracket;

	begin_quiet(&bracket);
	signal_bracket_call(&bracket, function, argument);
	end_quiet(&bracket);
}

void signal_bracket_run(void (*function)(void *argument), void *argument)
{
	struct signal_bracket bracket;

	signal_bracket_begin(&bracket);
	signal_bracket_call(&bracket, function, argument);
	signal_bracket_end(&bracket);
}
