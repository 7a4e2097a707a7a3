/*
 * A handler stops and starts the recording in the middle of a malloc, a realloc and a free: at
 * their first instruction outside of the C library, at the second, and so on to the last.
 */
#include "step.h"

#include <mallow/mallow.h>
#include <signal.h>
#include <unistd.h>

#define STEPS 29 /* from one place to the next: the agent does some hundred a call */

static int steps_left, switched;
static struct code library; // the C library: its allocator's locks are not for handlers

static void on_step(int number, siginfo_t *info, void *context)
{
	unsigned long pc = step_pc(context);

	if (code_has(&library, pc))
		return;
	// The agent blocks signals now and then, and a trap then would be the end: not this time.
	if (--steps_left > 0 && !step_is_system_call(pc))
		return;
	step_on_return(0, context);
	switched = 1;
	if (steps_left > 0)
		return;
	mallow_stop();
	mallow_start();
}

/* One call of each, one of which is stepped through. Whether its end was not reached first. */
static int run(int which, int steps)
{
	void *block;

	steps_left = steps;
	switched = 0;
	if (which == 0)
		step(1);
	block = keep(malloc(60));
	step(which == 1);
	block = keep(realloc(block, 3000));
	step(which == 2);
	free(block);
	step(0);
	return switched;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	library = code_of(usleep);
	sigaction(SIGTRAP, &action, NULL);
	for (int which = 0; which < 3; which++)
		for (int steps = 1; steps < 2000 && run(which, steps); steps += STEPS)
			run(-1, 0);
	puts("ok");
	return 7;
}
