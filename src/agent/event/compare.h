/* One of the test builds (tests/agent) looks at captured stacks; otherwise nothing. */
#ifndef MALLOW_AGENT_EVENT_COMPARE_H
#define MALLOW_AGENT_EVENT_COMPARE_H

struct thread;
struct unwind_state;

#ifdef MALLOW_TEST_BUILD
/* thread->stack was just made that of state. */
void compare_stack(struct thread *thread, const struct unwind_state *state);
#else
static inline void compare_stack(struct thread *thread, const struct unwind_state *state)
{
}
#endif

#endif
