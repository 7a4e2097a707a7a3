/*
 * A signal handler that interrupts the allocator and leaves by longjmp, again and again: each call
 * that was left is no event, and the thread is not mute afterwards. Links to inner_allocator.
 *
 * EXPECT left_alone: calls=0
 * EXPECT after_jump: calls=50 total_bytes=500 leaked_blocks=50
 * EXPECT deeper: calls=50 total_bytes=1000 leaked_blocks=50
 * EXPECT at_the_end: calls=1000 leaked_blocks=0 temporary=1000
 */
#include "sample.h"

#include <setjmp.h>
#include <signal.h>

extern void (*volatile inner_hook)(void);

static sigjmp_buf out;

static void jump(int signal)
{
	(void)signal;
	inner_hook = NULL;
	siglongjmp(out, 1);
}

static void interrupt(void)
{
	raise(SIGUSR1);
}

static NOINLINE void left_alone(void)
{
	keep(malloc(10));
	STAY();
}

static NOINLINE void after_jump(void)
{
	keep(malloc(10));
	STAY();
}

/* Further down the stack than the call that was left, so its frame's place is overwritten. */
static NOINLINE void deeper(int levels)
{
	volatile char room[200];

	memset((void *)room, 0x55, sizeof(room));
	if (levels)
		deeper(levels - 1);
	else
		keep(malloc(20));
	STAY();
}

static NOINLINE void at_the_end(void)
{
	for (int i = 0; i < 1000; i++)
		free(keep(malloc(30)));
	STAY();
}

int main(void)
{
	REQUIRE(signal(SIGUSR1, jump) != SIG_ERR);
	for (volatile int round = 0; round < 50; round++) {
		if (!sigsetjmp(out, 1)) {
			inner_hook = interrupt;
			left_alone();
			REQUIRE(!"the handler did not jump");
		}
		after_jump();
		deeper(20);
	}
	at_the_end();
	puts("ok");
	return 7;
}
