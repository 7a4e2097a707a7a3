/*
 * The first code of a new thread. It calls start->enter(), and then jumps to the function that this
 * returns. So no frame of ours is left on the stack: debuggers, backtrace() and our own stacks see
 * the thread as without us. One file per architecture.
 */
#ifndef MALLOW_AGENT_ARCH_TRAMPOLINE_H
#define MALLOW_AGENT_ARCH_TRAMPOLINE_H

/* Two words, which the ABI returns in registers: the trampoline relies on it. */
struct trampoline_target {
	void *(*function)(void *argument);
	void *argument;
};

/*
 * The head of the thread's argument: the caller puts it first into a struct of its own, which lives
 * until enter() returns. enter() runs in the new thread, before the program's code.
 */
struct trampoline_start {
	struct trampoline_target (*enter)(struct trampoline_start *start);
};

/* The start routine for pthread_create(); its argument is a struct trampoline_start. */
void *trampoline(void *start) __attribute__((visibility("hidden")));

#endif
