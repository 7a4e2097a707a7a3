/*
 * Signals that the settings give a meaning: one starts and stops the recording (SIGNAL_TOGGLE),
 * others ask for a report (MODE=live). In the kernel their handler is ours. sigaction() shows the
 * program the handler that it set itself, and ours calls that one when it is done. All other
 * signals are left alone.
 */
#ifndef MALLOW_AGENT_LIFE_SIGNAL_CHAIN_H
#define MALLOW_AGENT_LIFE_SIGNAL_CHAIN_H

struct own_signal;
struct sigaction;

/*
 * The signal if it is one of these, else NULL. May be called before our constructor has run, by a
 * program's sigaction().
 */
struct own_signal *signal_chain_find(int number);

/* What sigaction() does for such a signal; returns what it returns. new and old may be NULL. */
int signal_chain_change(struct own_signal *own, const struct sigaction *new, struct sigaction *old);

/* Installs the handler for the signals that the settings name; once. */
void signal_chain_begin(void);

/*
 * Around exec. The next image must find a signal ignored that this one ignores, and inherits that
 * from the kernel, where our handler stands. So the kernel is told before the exec, and the handler
 * comes back if the exec fails.
 */
void signal_chain_before_exec(void);
void signal_chain_after_exec(void);

#endif
