/*
 * The signals of the settings: that which starts and stops the recording (SIGNAL_TOGGLE), and those
 * of MODE=live. Their real handler is ours; the program sees the one that it has set itself, and
 * that is called behind ours. Every other signal is left alone.
 */
#ifndef MALLOW_AGENT_LIFE_SIGNAL_CHAIN_H
#define MALLOW_AGENT_LIFE_SIGNAL_CHAIN_H

struct own_signal;
struct sigaction;

/* The signal if it is one of ours, else NULL. Programs may call before our constructor has run. */
struct own_signal *signal_chain_find(int number);

/* sigaction() of such a signal, as the kernel would do it. new and old may be NULL. */
int signal_chain_change(struct own_signal *own, const struct sigaction *new, struct sigaction *old);

/* Installs the handler for the signals that the settings name; once. */
void signal_chain_begin(void);

/*
 * Around exec: a signal that the program ignores is ignored by the next image, too, for which it
 * must be so in the kernel. Nothing where it is not.
 */
void signal_chain_before_exec(void);
void signal_chain_after_exec(void);

#endif
