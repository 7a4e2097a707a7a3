/*
 * A process that shares our memory and runs on a stack of its own, beside the program's threads. It
 * has the caller's thread-local storage, so it may only compute, and make system calls by
 * syscall_raw(). One file per architecture.
 */
#ifndef MALLOW_AGENT_ARCH_CLONE_STACK_H
#define MALLOW_AGENT_ARCH_CLONE_STACK_H

/*
 * Starts such a process with function(argument), which must not return. Its stack ends at `end`, a
 * multiple of 16. flags: clone(2)'s, with the signal of its end. Returns its pid, or the negative
 * error.
 */
long clone_stack(unsigned long flags, void *end, void (*function)(void *argument), void *argument)
	__attribute__((visibility("hidden")));

#endif
