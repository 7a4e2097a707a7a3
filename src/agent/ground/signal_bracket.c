#include "agent/ground/signal_bracket.h"

#include "agent/arch/own_stack_call.h"
#include "agent/arch/syscall.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/state.h"

// Signals that a write of ours can raise in this thread: beyond RLIMIT_FSIZE, or into a closed
// pipe.
static const uint64_t own_signals = 1ull << (SIGXFSZ - 1) | 1ull << (SIGPIPE - 1);

static const struct signal_set all = {{[0 ... ARCH_SIGNALS / 64 - 1] = ~0ull}};

#define OWN_STACKS     32   /* bits of process->own_stacks */
#define OWN_STACK_SIZE 8192 /* the deepest path takes 5 KB (gcc -fcallgraph-info=su) */
#define NAPS           200
#define NAP_NS         100000

// Kept across fork, as a copy.
static uint8_t (*stacks)[OWN_STACK_SIZE];

void own_stack_prepare(void)
{
	bool own;

	own_pages_once(&stacks, OWN_STACKS * OWN_STACK_SIZE, &own);
}

static bool is_on_own_stack(void)
{
	return (uintptr_t)__builtin_frame_address(0) - (uintptr_t)stacks <
	       OWN_STACKS * OWN_STACK_SIZE;
}

/* Bits of stacks in use. Wiped at fork: no thread of the child is in a slow path. */
static uint32_t *stacks_in_use(void)
{
	return &process->own_stacks;
}

/* The number of a stack; -1: all are in use. */
static int try_take_stack(void)
{
	uint32_t used = __atomic_load_n(stacks_in_use(), __ATOMIC_RELAXED);

	while (~used) {
		int number = __builtin_ctz(~used);

		if (__atomic_compare_exchange_n(stacks_in_use(), &used, used | 1u << number, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return number;
	}
	return -1;
}

/*
 * Returns the end of a free stack; own_stack_give_back() when done. NULL: use the program's stack,
 * because this already is one of ours, or none was free even after some 30 ms.
 */
static void *own_stack_take(void)
{
	static const struct kernel_time nap = {.tv_nsec = NAP_NS};

	if (!stacks || is_on_own_stack())
		return NULL;
	for (int i = 0; i < NAPS; i++) {
		int number = try_take_stack();

		if (number >= 0)
			return stacks[number] + OWN_STACK_SIZE;
		// Another thread has just installed a seccomp filter.
		if (process_system_calls_forbidden())
			break;
		sys_nanosleep(&nap);
	}
	return NULL;
}

static void own_stack_give_back(void *end)
{
	uint64_t number = (uint64_t)((uint8_t(*)[OWN_STACK_SIZE])end - stacks) - 1;

	__atomic_fetch_and(stacks_in_use(), ~(1u << number), __ATOMIC_RELEASE);
}

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
	struct signal_set pending = {0};

	begin_quiet(bracket);
	if (bracket->nested)
		return;
	sys_sigpending(&pending);
	bracket->pending = pending.words[0] & own_signals;
}

void signal_bracket_end(struct signal_bracket *bracket)
{
	static const struct kernel_time now = {0};
	struct signal_set pending = {0};
	uint64_t raised;

	// The program must not see the signals that we raised.
	if (!bracket->nested && !process_system_calls_forbidden()) {
		sys_sigpending(&pending);
		raised = pending.words[0] & own_signals & ~bracket->pending;
		for (; raised; raised &= raised - 1) {
			struct signal_set one = {{raised & -raised}};

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
