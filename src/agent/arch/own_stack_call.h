/* A call on another stack. One file per architecture. */
#ifndef MALLOW_AGENT_ARCH_OWN_STACK_CALL_H
#define MALLOW_AGENT_ARCH_OWN_STACK_CALL_H

/*
 * Calls function(argument) on the stack that ends at `end`, a multiple of 16, and returns when the
 * function does. The caller must own that stack (signal_bracket.h).
 */
void own_stack_call(void (*function)(void *argument), void *argument, void *end)
	__attribute__((visibility("hidden")));

#endif
