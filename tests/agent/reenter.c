/*
 * malloc and free in the middle of each system call of the agent, as a signal handler could do at
 * that moment. The exported functions are called, so that all of the hooks' guards are walked
 * through. Counts what it allocated into the file MALLOW_TEST_REENTER_LOG at exit.
 */
#include "agent/arch/syscall.h"
#include "agent/ground/config.h"
#include "agent/hooks/hooks.h"
#include "log_count.h"

static __thread int inside __attribute__((tls_model("initial-exec")));
static uint64_t count;

void syscall_reenter(void)
{
	void *block;

	// The hooks' own system calls must not come here again without end.
	if (inside || !real.ready)
		return;
	inside = 1;
	block = hook_malloc(41);
	block = hook_realloc(block, 4141);
	hook_free(block);
	__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
	inside = 0;
}

void __wrap_own_stack_prepare(void);
void __wrap_own_stack_prepare(void)
{
}

static __attribute__((destructor)) void report(void)
{
	inside = 1;
	log_count("MALLOW_TEST_REENTER_LOG", "reentered=", count);
}
