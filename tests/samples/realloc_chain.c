/*
 * A block that grows in a thousand steps, others made and freed between them, and one that moves
 * from malloc's heap to mmap and back.
 *
 * EXPECT grow: calls=1000 total_bytes=50050000 leaked_blocks=1 leaked_bytes=100000
 * EXPECT between: calls=1000 total_bytes=64000 leaked_blocks=0 temporary=1000
 * EXPECT move_to_mmap: calls=3 total_bytes=10000200 leaked_blocks=0
 */
#include "sample.h"

#ifndef STEPS
#define STEPS 1000
#endif

static NOINLINE void between(void)
{
	free(keep(malloc(64)));
	STAY();
}

static NOINLINE void grow(void)
{
	char *block = NULL;

	for (size_t i = 1; i <= STEPS; i++) {
		block = keep(realloc(block, i * 100));
		block[i * 100 - 1] = 1;
	}
	STAY();
}

static NOINLINE void move_to_mmap(void)
{
	char *block = keep(malloc(100));

	block = keep(realloc(block, 10000000));
	block = keep(realloc(block, 100));
	free(block);
	STAY();
}

int main(void)
{
	grow();
	for (int i = 0; i < 1000; i++)
		between();
	move_to_mmap();
	puts("ok");
	return 7;
}
