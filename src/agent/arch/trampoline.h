/*
 * The first code of a new thread: calls trampoline_enters() and then jumps to the function that
 * this names, so that no frame of ours is left under it: debuggers, backtrace() and our own stacks
 * see the thread as it always was. One file per architecture.
 */
#ifndef MALLOW_AGENT_ARCH_TRAMPOLINE_H
#define MALLOW_AGENT_ARCH_TRAMPOLINE_H

/* Two words, which the ABI returns in registers: the trampoline relies on it. */
struct trampoline_target {
	void *(*function)(void *argument);
	void *argument;
};

/* For pthread_create(), with the argument that trampoline_enters() is to get. */
void *trampoline(void *argument) __attribute__((visibility("hidden")));

/* In the new thread, before the program's function; its start is recorded. (hooks/thread.c) */
struct trampoline_target trampoline_enters(void *argument) __attribute__((used));

#endif
