/*
 * Its first call of all, before any constructor, is one of the C API. Prints how many bytes of new
 * blocks were not zero, which freed ones had left behind.
 */
#include <mallow/mallow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 500
#define SIZE   100

static int pool;

static void first(void)
{
	mallow_pool_name(&pool, "first");
}

__attribute__((section(".preinit_array"), used)) static void (*const entry)(void) = first;

int main(void)
{
	static char *blocks[BLOCKS];
	int dirty = 0;

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < BLOCKS; i++) {
			blocks[i] = malloc(SIZE);
			for (int at = 0; round && at < SIZE; at++)
				dirty += blocks[i][at] != 0;
			memset(blocks[i], 0xff, SIZE);
		}
		for (int i = 0; i < BLOCKS; i++)
			free(blocks[i]);
	}
	printf("%s\n", dirty ? "dirty" : "clean");
	return 7;
}
