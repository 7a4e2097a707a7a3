/*
 * A handler allocates and ends the process in the middle of a malloc: in the first child at its
 * first instruction outside of the C library, in the next one some instructions later, and so on.
 * What it allocated is in the child's recording, or counted as lost.
 *
 * EXPECT in_handler: calls=0
 */
#include "step.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define DONE  1 /* status of a child that had no such instruction left */
#define STEPS 7 /* from one child to the next */

static struct code library; // whose allocator no handler may enter twice
static int steps_left;

static NOINLINE void in_handler(void)
{
	keep(malloc(77));
	STAY();
}

static void on_step(int number, siginfo_t *info, void *context)
{
	if (code_has(&library, step_pc(context)) || --steps_left > 0)
		return;
	in_handler();
	_exit(0);
}

/* All from one place, so that the last one is nothing new: no system call, no blocked signal. */
static NOINLINE void child(void)
{
	for (int i = 0; i <= 10; i++) {
		step(i == 10);
		keep(malloc(60));
		step(0);
	}
	_exit(DONE);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	int status = 0;

	library = code_of(usleep);
	sigaction(SIGTRAP, &action, NULL);
	for (int steps = 1; !status; steps += STEPS) {
		int pid = fork();

		steps_left = steps;
		if (pid == 0)
			child();
		REQUIRE(waitpid(pid, &status, 0) == pid);
		REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) <= DONE);
	}
	puts("ok");
	return 7;
}
