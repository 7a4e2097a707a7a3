/*
 * Children made behind the C library's back, and by its clone(). Those that share the parent's
 * memory allocate on its heap, and in its recording; each of the others has a recording of its own.
 *
 * EXPECT in_shared: calls=30 total_bytes=300 leaked_blocks=30
 * EXPECT in_parent: calls=50 total_bytes=1000 leaked_blocks=50
 *
 * Of every child's recording:
 * EXPECT-CHILD in_child: calls=10 total_bytes=330 leaked_blocks=10
 * EXPECT-CHILD in_parent: calls=0
 */
#include "sample.h"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char stack[1 << 18] __attribute__((aligned(64)));

static NOINLINE void in_shared(void)
{
	for (int i = 0; i < 10; i++)
		keep(malloc(10));
	STAY();
}

static NOINLINE void in_parent(void)
{
	for (int i = 0; i < 10; i++)
		keep(malloc(20));
	STAY();
}

static NOINLINE void in_child(void)
{
	for (int i = 0; i < 10; i++)
		keep(malloc(33));
	STAY();
}

static int run_shared(void *argument)
{
	in_shared();
	return argument ? 5 : 6;
}

static int run_alone(void *argument)
{
	in_child();
	return argument ? 5 : 6;
}

static void await(long child)
{
	int status;

	REQUIRE(child > 0);
	REQUIRE(waitpid((pid_t)child, &status, 0) == child);
	REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

static void by_the_library(int (*run)(void *argument), int flags)
{
	await(clone(run, stack + sizeof(stack), flags | SIGCHLD, stack));
}

static long clone3_(void)
{
	struct clone_args arguments = {.exit_signal = SIGCHLD};

	return syscall(SYS_clone3, &arguments, sizeof(arguments));
}

static void by_system_call(long child)
{
	if (child == 0) {
		in_child();
		_exit(5);
	}
	await(child);
	in_parent();
}

int main(void)
{
	by_the_library(run_shared, CLONE_VM | CLONE_VFORK);
	in_parent();
	by_the_library(run_shared, CLONE_VM);
	in_parent();
	by_the_library(run_shared, CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_SIGHAND);
	by_the_library(run_alone, 0);
	by_system_call(syscall(SYS_fork));
	by_system_call(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	by_system_call(clone3_());
	puts("ok");
	return 7;
}
