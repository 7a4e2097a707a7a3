/* A test build (tests/agent) compares captured stacks here. In other builds this is empty. */
#ifndef MALLOW_AGENT_EVENT_COMPARE_H
#define MALLOW_AGENT_EVENT_COMPARE_H

struct thread;
struct unwind_state;

#ifdef MALLOW_TEST_COMPARE
/* thread->stack was just captured from state. */
void compare_stack(struct thread *thread, const struct unwind_state *state);
#else
static inline void compare_stack(struct thread *thread, const struct unwind_state *state)
{
}
#endif

#endif
