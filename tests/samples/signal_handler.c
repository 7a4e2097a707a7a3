/*
 * Signal handlers that allocate: on the thread's own stack, on an alternate stack, in the middle
 * of the allocator, and from a fast timer at any instruction, the agent's own included. Links to
 * inner_allocator, whose malloc may be interrupted. A handler's stack goes on through the signal
 * frame to what it interrupted.
 *
 * EXPECT on_own_stack: calls=20 total_bytes=200 leaked_blocks=20
 * EXPECT on_other_stack: calls=20 total_bytes=400 leaked_blocks=20
 * EXPECT inside_allocator: calls=40 total_bytes=1300 leaked_blocks=20
 * EXPECT interrupted: calls=60 total_bytes=2100 leaked_blocks=40
 * EXPECT on_timer: calls=500 total_bytes=25000 leaked_blocks=500
 */
#include "sample.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

extern void (*volatile inner_hook)(void);

/* An emulator takes longer for a handler than other machines. */
#ifndef TICK_US
#define TICK_US 100
#endif

static volatile sig_atomic_t ticks;

static NOINLINE void on_own_stack(int signal)
{
	(void)signal;
	keep(malloc(10));
	STAY();
}

static NOINLINE void on_other_stack(int signal)
{
	(void)signal;
	keep(malloc(20));
	STAY();
}

static NOINLINE void inside_allocator(int signal)
{
	(void)signal;
	inner_hook = NULL;
	keep(malloc(30));
	free(keep(malloc(35)));
	STAY();
}

static void raise_in_allocator(void)
{
	raise(SIGHUP);
}

static NOINLINE void interrupted(void)
{
	inner_hook = raise_in_allocator;
	keep(malloc(40));
	STAY();
}

static NOINLINE void on_timer(int signal)
{
	(void)signal;
	if (ticks < 500) {
		keep(malloc(50));
		ticks = ticks + 1;
	}
	STAY();
}

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	REQUIRE(sigaction(number, &action, NULL) == 0);
}

int main(void)
{
	static char stack[65536];
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct itimerval timer = {{0, TICK_US}, {0, TICK_US}};
	unsigned long rounds = 0;

	REQUIRE(sigaltstack(&other, NULL) == 0);
	handle(SIGUSR1, on_own_stack, 0);
	handle(SIGUSR2, on_other_stack, SA_ONSTACK);
	handle(SIGHUP, inside_allocator, 0);
	handle(SIGALRM, on_timer, SA_RESTART);
	for (int i = 0; i < 20; i++) {
		raise(SIGUSR1);
		raise(SIGUSR2);
		interrupted();
	}
	setitimer(ITIMER_REAL, &timer, NULL);
	while (ticks < 500 && rounds < 3000000) { /* the inner allocator is not endless */
		free(keep(malloc(60)));
		rounds++;
	}
	while (ticks < 500)
		;
	puts("ok");
	return 7;
}
