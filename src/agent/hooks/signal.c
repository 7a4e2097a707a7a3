/* sigaction() and its older relatives, for the signals that the settings name: signal_chain.h. */
#include <errno.h>
#include <signal.h>

#include "agent/hooks/hooks.h"
#include "agent/life/signal_chain.h"

/* For calls that take only a handler. Returns the previous handler. */
static signal_handler *change_handler(struct own_signal *own, signal_handler *handler, int flags)
{
	struct sigaction new = {.sa_handler = handler, .sa_flags = flags};
	struct sigaction old;

	if (signal_chain_change(own, &new, &old))
		return SIG_ERR;
	return old.sa_handler;
}

static struct own_signal *find_signal(int number)
{
	hooks_resolve();
	return signal_chain_find(number);
}

int hook_sigaction(int number, const void *new, void *old)
{
	struct own_signal *own = find_signal(number);

	if (own)
		return signal_chain_change(own, new, old);
	return real.sigaction ? real.sigaction(number, new, old)
			      : (int)next_functions_return(-ENOSYS);
}

/* The flags are those of the C library: BSD's functions keep the handler, System V's reset it. */
#define DEFINE_SIGNAL(name, flags)                                                                 \
	signal_handler *hook_##name(int number, signal_handler *handler)                           \
	{                                                                                          \
		struct own_signal *own = find_signal(number);                                      \
                                                                                                   \
		if (own)                                                                           \
			return change_handler(own, handler, flags);                                \
		if (real.name)                                                                     \
			return real.name(number, handler);                                         \
		return (signal_handler *)next_functions_return(-ENOSYS);                           \
	}

DEFINE_SIGNAL(signal, SA_RESTART)
DEFINE_SIGNAL(bsd_signal, SA_RESTART)
DEFINE_SIGNAL(ssignal, SA_RESTART)
DEFINE_SIGNAL(sysv_signal, (int)(SA_RESETHAND | SA_NODEFER))
DEFINE_SIGNAL(sysv_signal_old, (int)(SA_RESETHAND | SA_NODEFER))

/* SIG_HOLD and the mask are left to the C library. Only the handler is ours to keep. */
signal_handler *hook_sigset(int number, signal_handler *handler)
{
	struct own_signal *own = find_signal(number);
	signal_handler *before;
	struct sigaction action;

	if (!own || handler == SIG_HOLD)
		return real.sigset ? real.sigset(number, handler)
				   : (signal_handler *)next_functions_return(-ENOSYS);
	signal_chain_change(own, NULL, &action);
	// The real call unblocks the signal and tells whether it was blocked. The handler that it
	// sets is replaced by ours at once.
	before = real.sigset ? real.sigset(number, SIG_IGN) : SIG_ERR;
	change_handler(own, handler, 0);
	return before == SIG_HOLD ? before : action.sa_handler;
}

int hook_sigignore(int number)
{
	struct own_signal *own = find_signal(number);

	if (own)
		return change_handler(own, SIG_IGN, 0) == SIG_ERR ? -1 : 0;
	return real.sigignore ? real.sigignore(number) : (int)next_functions_return(-ENOSYS);
}
