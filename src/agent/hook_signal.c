/* sigaction() and its older kin, for the one signal of SIGNAL_TOGGLE: see hook_signal.h. */
#include "agent/hook_signal.h"

#include <errno.h>
#include <signal.h>

#include "agent/config.h"
#include "agent/libc.h"
#include "agent/process.h"
#include "agent/real.h"
#include "agent/slow.h"
#include "agent/toggle.h"

// Flags that say how the kernel calls the handler: the program's own hold for ours.
#define KEPT_FLAGS (SA_NODEFER | SA_ONSTACK | SA_RESTART)

static int toggle_signal; // atomic; 0: no handler of ours

/*
 * What the program has set, as the kernel would have it. A handler may come while another thread
 * changes it, so there are two, and `current` says which counts.
 */
static struct sigaction actions[2];
static uint32_t current; // atomic
static uint32_t lock;

static bool is_handler(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static void set_action(const struct sigaction *action)
{
	uint32_t next = !__atomic_load_n(&current, __ATOMIC_RELAXED);

	actions[next] = *action;
	__atomic_store_n(&current, next, __ATOMIC_RELEASE);
}

static struct sigaction get_action(void)
{
	return actions[__atomic_load_n(&current, __ATOMIC_ACQUIRE)];
}

static void on_signal(int number, siginfo_t *info, void *context);

/* Ours in the kernel, as the program's is to be called. SA_RESTART where it has none. */
static int install(const struct sigaction *action)
{
	struct sigaction ours = {.sa_flags = SA_RESTART};

	if (is_handler(action)) {
		ours.sa_mask = action->sa_mask;
		ours.sa_flags = action->sa_flags & KEPT_FLAGS;
	}
	ours.sa_sigaction = on_signal;
	ours.sa_flags |= SA_SIGINFO;
	return real.sigaction(toggle_signal, &ours, NULL);
}

/* SA_RESETHAND: the program's handler is called once. */
static void reset_action(void)
{
	struct sigaction none = {.sa_handler = SIG_DFL};

	set_action(&none);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct sigaction action = get_action();
	int *place = real.errno_location ? real.errno_location() : NULL;
	int before = place ? *place : 0;

	if (action.sa_flags & (int)SA_RESETHAND)
		reset_action();
	toggle_flip();
	if (place)
		*place = before;
	if (!is_handler(&action))
		return;
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(number, info, context);
	else
		action.sa_handler(number);
}

void hook_signal_begin(void)
{
	int number = (int)config.value[SETTING_SIGNAL_TOGGLE];
	struct sigaction before;

	if (toggle_is_off())
		toggle_settle_slow();
	if (!number || toggle_signal || !real.sigaction)
		return;
	if (real.sigaction(number, NULL, &before))
		return;
	set_action(&before);
	toggle_signal = number;
	if (install(&before))
		toggle_signal = 0;
}

void hook_signal_before_exec(void)
{
	const struct sigaction ignored = {.sa_handler = SIG_IGN};

	if (toggle_signal && get_action().sa_handler == SIG_IGN)
		real.sigaction(toggle_signal, &ignored, NULL);
}

void hook_signal_after_exec(void)
{
	struct sigaction action;

	if (!toggle_signal)
		return;
	action = get_action();
	if (action.sa_handler == SIG_IGN)
		install(&action);
}

/* Whether the call is about our signal. Programs may call before our constructor has run. */
static bool is_ours(int number)
{
	real_resolve();
	if (number <= 0)
		return false;
	hook_signal_begin();
	return number == toggle_signal;
}

/* As the kernel would do it. new and old may be NULL. */
static int change(const struct sigaction *new, struct sigaction *old)
{
	struct sigaction before;
	struct slow slow;
	int result = 0;

	// A vfork child has signals of its own, and its parent's memory.
	if (process_is_borrowed()) {
		before = get_action();
		if (new)
			result = real.sigaction(toggle_signal, new, NULL);
		if (old)
			*old = before;
		return result;
	}
	slow_begin(&slow);
	before = get_action();
	if (new &&slow_try_lock(&lock)) {
		set_action(new);
		result = install(new);
		slow_unlock(&lock);
	}
	slow_end(&slow);
	if (old)
		*old = before;
	return result;
}

/* Of the calls that take a handler alone. Returns the handler before. */
static signal_handler *change_handler(signal_handler *handler, int flags)
{
	struct sigaction new = {.sa_handler = handler, .sa_flags = flags};
	struct sigaction old;

	if (change(&new, &old))
		return SIG_ERR;
	return old.sa_handler;
}

int hook_sigaction(int number, const void *new, void *old)
{
	if (is_ours(number))
		return change(new, old);
	return real.sigaction ? real.sigaction(number, new, old) : (int)real_return(-ENOSYS);
}

/* Each as its C library has it: BSD's keeps the handler, System V's resets it. */
#define DEFINE_SIGNAL(name, flags)                                                                 \
	signal_handler *hook_##name(int number, signal_handler *handler)                           \
	{                                                                                          \
		if (is_ours(number))                                                               \
			return change_handler(handler, flags);                                     \
		if (real.name)                                                                     \
			return real.name(number, handler);                                         \
		return (signal_handler *)real_return(-ENOSYS);                                     \
	}

DEFINE_SIGNAL(signal, SA_RESTART)
DEFINE_SIGNAL(bsd_signal, SA_RESTART)
DEFINE_SIGNAL(ssignal, SA_RESTART)
DEFINE_SIGNAL(sysv_signal, (int)(SA_RESETHAND | SA_NODEFER))
DEFINE_SIGNAL(sysv_signal_old, (int)(SA_RESETHAND | SA_NODEFER))

/* SIG_HOLD and the mask are the C library's business: the handler alone goes our way. */
signal_handler *hook_sigset(int number, signal_handler *handler)
{
	signal_handler *before;
	struct sigaction action;

	if (!is_ours(number) || handler == SIG_HOLD)
		return real.sigset ? real.sigset(number, handler)
				   : (signal_handler *)real_return(-ENOSYS);
	action = get_action();
	// It unblocks the signal, and says whether it was blocked; the handler that it sets is
	// replaced by ours at once.
	before = real.sigset ? real.sigset(number, SIG_IGN) : SIG_ERR;
	change_handler(handler, 0);
	return before == SIG_HOLD ? before : action.sa_handler;
}

int hook_sigignore(int number)
{
	if (is_ours(number))
		return change_handler(SIG_IGN, 0) == SIG_ERR ? -1 : 0;
	return real.sigignore ? real.sigignore(number) : (int)real_return(-ENOSYS);
}
