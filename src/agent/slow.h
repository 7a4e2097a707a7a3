/*
 * The bracket around every slow path: all signals are blocked, so that no handler can leave it
 * by longjmp or find it half done, and SIGXFSZ and SIGPIPE of our own writes are consumed. Locks
 * are taken only inside it, and have an end to trying.
 */
#ifndef MALLOW_AGENT_SLOW_H
#define MALLOW_AGENT_SLOW_H

#include <stdbool.h>
#include <stdint.h>

struct slow {
	uint64_t mask;    /* the program's signal mask */
	uint64_t pending; /* SIGXFSZ and SIGPIPE that were waiting before we came */
	bool nested;      /* signals were not touched: system calls are forbidden */
};

void slow_begin(struct slow *slow);
void slow_end(struct slow *slow);

/*
 * function(argument) within the bracket, on a stack of the agent's own (own_stack.h) where signals
 * are blocked: whatever takes more than some 200 bytes of stack, and calls nothing of the
 * program's.
 */
void slow_call(const struct slow *slow, void (*function)(void *argument), void *argument);

/* The same as a bracket of its own. */
void slow_run(void (*function)(void *argument), void *argument);

/*
 * A smaller one, of two system calls in place of four: for what writes no file and no pipe, but in
 * brackets of its own within.
 */
void slow_run_quiet(void (*function)(void *argument), void *argument);

/* A few tries, then false: nobody waits. Zero is unlocked. */
bool slow_try_lock(uint32_t *lock);

/*
 * Where going without is wrong, not only dearer: naps while another thread has it, which may have
 * lost its processor. Some 40 ms at most, then false.
 */
bool slow_wait_lock(uint32_t *lock);

void slow_unlock(uint32_t *lock);

#endif
