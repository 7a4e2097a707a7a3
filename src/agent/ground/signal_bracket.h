/*
 * The bracket around every slow path. All signals are blocked, so that no handler can leave it by
 * longjmp or find it half done. SIGXFSZ and SIGPIPE that our own writes raise are consumed.
 */
#ifndef MALLOW_AGENT_GROUND_SIGNAL_BRACKET_H
#define MALLOW_AGENT_GROUND_SIGNAL_BRACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/arch/machine.h"

struct signal_bracket {
	struct signal_set mask; /* the program's signal mask */
	uint64_t pending;       /* SIGXFSZ and SIGPIPE if they were pending before */
	bool nested;            /* signals were not touched: system calls are forbidden */
};

void signal_bracket_begin(struct signal_bracket *bracket);
void signal_bracket_end(struct signal_bracket *bracket);

/*
 * Calls function(argument) within the bracket; if signals are blocked, on a stack of the agent's
 * own (own_stack_prepare()). For work that takes more than some 200 bytes of stack and calls
 * nothing of the program's.
 */
void signal_bracket_call(const struct signal_bracket *bracket, void (*function)(void *argument),
			 void *argument);

/* The same with a bracket of its own. */
void signal_bracket_run(void (*function)(void *argument), void *argument);

/*
 * The same with two system calls instead of four, because SIGXFSZ and SIGPIPE are not looked after.
 * For functions that write to files and pipes only within brackets of their own.
 */
void signal_bracket_run_quiet(void (*function)(void *argument), void *argument);

/*
 * Stacks of the agent's own. A slow path runs on one of them, because the program's stack may be a
 * fiber's of 2 KiB, or the alternate stack of a signal handler.
 *
 *     the program's stack                            one of OWN_STACKS
 *     main … hook_malloc, signal_bracket_call()  ->  define a frame, make system calls …
 *
 * A thread takes the first stack that is free, so most are never touched.
 *
 * Only while all signals are blocked: a handler would run on this stack, and a walk from there
 * would not find the program's frames. For the same reason no code of the program or of its
 * allocator runs here. Nor does anybody know how much stack such code takes.
 *
 * Makes them, once, with the process's own memory. Without memory there are none.
 */
void own_stack_prepare(void);

#endif
