/*
 * More blocks at once than the agent holds back, and all of them freed; then others.
 *
 * EXPECT many: calls=600000 total_bytes=9600000 leaked_blocks=0 temporary=0
 * EXPECT afterwards: calls=1000 total_bytes=20000 leaked_blocks=0 temporary=1000
 */
#include "sample.h"

#define BLOCKS 600000

static void *blocks[BLOCKS];

static NOINLINE void many(void)
{
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = keep(malloc(16));
	STAY();
}

static NOINLINE void afterwards(void)
{
	for (int i = 0; i < 1000; i++)
		free(keep(malloc(20)));
	STAY();
}

int main(void)
{
	many();
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	afterwards();
	return 0;
}
