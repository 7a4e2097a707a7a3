/*
 * The signals of the settings: that which starts and stops the recording (SIGNAL_TOGGLE), and those
 * of MODE=live. Their real handler is ours; the program sees the one that it has set itself, and
 * that is called behind ours. Every other signal is left alone.
 */
#ifndef MALLOW_AGENT_LIFE_SIGNAL_CHAIN_H
#define MALLOW_AGENT_LIFE_SIGNAL_CHAIN_H

/* Installs the handler for the signals that the settings name; once. */
void hook_signal_begin(void);

/*
 * Around exec: a signal that the program ignores is ignored by the next image, too, for which it
 * must be so in the kernel. Nothing where it is not.
 */
void hook_signal_before_exec(void);
void hook_signal_after_exec(void);

#endif
