/*
 * A check of captured stacks, for one of the test builds (tests/agent). Other builds do nothing
 * here.
 */
#ifndef MALLOW_AGENT_EVENT_COMPARE_H
#define MALLOW_AGENT_EVENT_COMPARE_H

struct thread;
struct unwind_state;

#ifdef MALLOW_TEST_BUILD
/* Compares thread->stack, just captured from state, with what other unwinders find. */
void compare_stack(struct thread *thread, const struct unwind_state *state);
#else
static inline void compare_stack(struct thread *thread, const struct unwind_state *state)
{
}
#endif

#endif
