/*
 * Two functions that call each other 3,000 levels deep and allocate on each, on the way down and on
 * the way back: with a lower DEPTH their stacks are cut.
 */
#include "sample.h"

#define LEVELS 3000

static NOINLINE void pong(int level);

static NOINLINE void ping(int level)
{
	keep(malloc(100));
	if (level > 1)
		pong(level - 1);
	keep(malloc(100));
	STAY();
}

static NOINLINE void pong(int level)
{
	keep(malloc(100));
	if (level > 1)
		ping(level - 1);
	keep(malloc(100));
	STAY();
}

int main(void)
{
	ping(LEVELS);
	puts("ok");
	return 7;
}
