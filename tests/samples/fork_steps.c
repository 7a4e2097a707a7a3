/*
 * A handler forks in the middle of a malloc and of a free: at their first instruction outside of
 * the C library, at the second, and so on to the last. Each child goes on with what was
 * interrupted, and then allocates. Argument: how many instructions to go on by each time. Prints
 * how often it forked.
 *
 * What a child's table holds beside what was interrupted:
 *
 * EXPECT in_child: calls=100 total_bytes=3000 leaked_blocks=0
 */
#include "step.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int child, forked, steps_left, times;
static struct code library;

static void on_step(int number, siginfo_t *info, void *context)
{
	unsigned long pc = step_pc(context);
	int pid, status = -1;

	(void)number, (void)info;
	if (code_has(&library, pc))
		return;
	// The agent blocks signals now and then, and a trap then would be the end: not this time.
	if (--steps_left > 0 && !step_is_system_call(pc))
		return;
	step_on_return(0, context);
	forked = 1;
	if (steps_left > 0)
		return;
	pid = fork();
	if (pid == 0) {
		child = 1;
		return;
	}
	REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	times++;
}

static NOINLINE void in_child(void)
{
	for (int i = 0; i < 100; i++)
		free(keep(malloc(30)));
	STAY();
}

/* One call of each, one of which is stepped through. Whether its end was not reached first. */
static NOINLINE int stepped(int which, int steps)
{
	void *block;

	steps_left = steps;
	forked = 0;
	step(which == 0);
	block = keep(malloc(60));
	step(which == 1);
	free(block);
	step(0);
	if (child) {
		in_child();
		_exit(0);
	}
	STAY();
	return forked;
}

int main(int argc, char **argv)
{
	int stride = argc > 1 ? atoi(argv[1]) : 1;
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	library = code_of(usleep);
	sigaction(SIGTRAP, &action, NULL);
	for (int which = 0; which < 2; which++)
		for (int steps = 1; steps < 3000 && stepped(which, steps); steps += stride)
			stepped(-1, 0);
	printf("%d\n", times);
	return 7;
}
