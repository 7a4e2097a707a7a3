/* What each test build of the agent may define for itself. Otherwise nothing happens. */
#include "agent/arch/syscall.h"
#include "agent/event/compare.h"

__attribute__((weak)) void syscall_reenter(void)
{
}

__attribute__((weak)) long syscall_fails(long number)
{
	return 0;
}

__attribute__((weak)) void compare_stack(struct thread *thread, const struct unwind_state *state)
{
}
