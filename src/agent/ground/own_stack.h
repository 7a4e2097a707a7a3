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
 */
#ifndef MALLOW_AGENT_GROUND_OWN_STACK_H
#define MALLOW_AGENT_GROUND_OWN_STACK_H

#define OWN_STACKS     32   /* bits of process->own_stacks */
#define OWN_STACK_SIZE 8192 /* the deepest path takes 5 KB (gcc -fcallgraph-info=su) */

/* Makes the stacks, once, with the process's own memory. Without memory there are none. */
void own_stack_prepare(void);

/*
 * Returns the end of a free stack; own_stack_give_back() when done. NULL: use the program's stack,
 * because this already is one of ours, or none was free even after some 30 ms.
 */
void *own_stack_take(void);
void own_stack_give_back(void *end);

#endif
