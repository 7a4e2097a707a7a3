/*
 * Stacks of the agent's own: a slow path runs on one of them, for the program's stack may be a
 * fiber's of 2 KiB, or the alternate stack of a signal handler.
 *
 *     the program's stack                            one of OWN_STACKS
 *     main … hook_malloc, signal_bracket_call()  ->  define a frame, make system calls …
 *
 * A thread that comes to a slow path takes the first one that is free, so most are never touched.
 *
 * Only while all signals are blocked: a handler would run on the agent's stack, and a walk of it
 * would not find the program's frames. For the same reason, and because nobody knows how much stack
 * it takes, no code of the program runs there, and none of its allocator.
 */
#ifndef MALLOW_AGENT_GROUND_OWN_STACK_H
#define MALLOW_AGENT_GROUND_OWN_STACK_H

#define OWN_STACKS     32   /* bits of process->own_stacks */
#define OWN_STACK_SIZE 8192 /* the deepest path takes 5 KB (gcc -fcallgraph-info=su) */

/* Once, with the process's own memory. Without memory there are none. */
void own_stack_prepare(void);

/*
 * The end of a stack that nobody uses; own_stack_give_back() when done. NULL: the caller is on one
 * already, or there is none, even after waiting for some 30 ms, and the program's has to do.
 */
void *own_stack_take(void);
void own_stack_give_back(void *end);

#endif
