/*
 * Allocations 20,000 frames deep, at the way down, at the bottom and at the way back. The default
 * limit keeps up to 16,384 of the innermost, and not fewer than seven eighths of that.
 *
 * EXPECT descend: calls=41 total_bytes=4100 leaked_blocks=41 depth=14337
 * EXPECT at_bottom: calls=1 total_bytes=100 depth=14337
 */
#include "sample.h"

#define LEVELS 20000

static NOINLINE void at_bottom(void)
{
	keep(malloc(100));
	STAY();
}

static NOINLINE void descend(int level)
{
	if (level % 1000 == 0 && level)
		keep(malloc(100));
	if (level == 0)
		at_bottom();
	else
		descend(level - 1);
	if (level % 1000 == 0 && level)
		keep(malloc(100));
	STAY();
}

int main(void)
{
	descend(LEVELS);
	puts("ok");
	return 7;
}
