/*
 * The bracket around every slow path: all signals are blocked, so that no handler can leave it
 * by longjmp or find it half done, and SIGXFSZ and SIGPIPE of our own writes are consumed.
 */
#ifndef MALLOW_AGENT_GROUND_SIGNAL_BRACKET_H
#define MALLOW_AGENT_GROUND_SIGNAL_BRACKET_H

#include <stdbool.h>
#include <stdint.h>

struct signal_bracket {
	uint64_t mask;    /* the program's signal mask */
	uint64_t pending; /* SIGXFSZ and SIGPIPE that were waiting before we came */
	bool nested;      /* signals were not touched: system calls are forbidden */
};

void signal_bracket_begin(struct signal_bracket *bracket);
void signal_bracket_end(struct signal_bracket *bracket);

/*
 * function(argument) within the bracket, on a stack of the agent's own (own_stack.h) where signals
 * are blocked: whatever takes more than some 200 bytes of stack, and calls nothing of the
 * program's.
 */
void signal_bracket_call(const struct signal_bracket *bracket, void (*function)(void *argument),
			 void *argument);

/* The same as a bracket of its own. */
void signal_bracket_run(void (*function)(void *argument), void *argument);

/*
 * A smaller one, of two system calls in place of four: for what writes no file and no pipe, but in
 * brackets of its own within.
 */
void signal_bracket_run_quiet(void (*function)(void *argument), void *argument);

#endif
