/*
 * A handler allocates, resizes and frees in the middle of a malloc, a realloc and a free of
 * MODE=live: at their first instruction outside of the C library, at the second, and so on to the
 * last. Argument: how many to go on by each time. Prints how often it did. Of what it did each time
 * stays one block, of the last time one more.
 */
#include "step.h"

#include <signal.h>
#include <unistd.h>

static int steps_left, interrupted, times;
static struct code library; // the C library: its allocator's locks are not for handlers
static void *other;

/* Six allocations, one of which stays. What it frees may be of the interrupted thread's past. */
static NOINLINE void in_handler(void)
{
	void *block = keep(malloc(40)), *large = keep(malloc(4000));

	free(other);
	other = keep(malloc(77));
	large = keep(realloc(large, 9000));
	block = keep(realloc(block, 300));
	free(block);
	free(large);
	keep(malloc(33));
	STAY();
}

static void on_step(int number, siginfo_t *info, void *context)
{
	unsigned long pc = step_pc(context);

	(void)number, (void)info;
	if (code_has(&library, pc))
		return;
	// The agent blocks signals now and then, and a trap then would be the end: not this time.
	if (--steps_left > 0 && !step_is_system_call(pc))
		return;
	step_on_return(0, context);
	interrupted = 1;
	if (steps_left > 0)
		return;
	in_handler();
	times++;
}

/* One call of each, one of which is stepped through. Whether its end was not reached first. */
static NOINLINE int stepped(int which, int steps)
{
	void *block;

	steps_left = steps;
	interrupted = 0;
	if (which == 0)
		step(1);
	block = keep(malloc(60));
	step(which == 1);
	block = keep(realloc(block, 3000));
	step(which == 2);
	free(block);
	step(0);
	STAY();
	return interrupted;
}

int main(int argc, char **argv)
{
	int stride = argc > 1 ? atoi(argv[1]) : 1;
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	library = code_of(usleep);
	sigaction(SIGTRAP, &action, NULL);
	for (int which = 0; which < 3; which++)
		for (int steps = 1; steps < 3000 && stepped(which, steps); steps += stride)
			stepped(-1, 0);
	printf("%d\n", times);
	fflush(stdout);
	sample_fail(7);
}
