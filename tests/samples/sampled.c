/*
 * Blocks of very different sizes by known functions, on four threads, for SAMPLE. What it comes to
 * is known; a sample says it within the bounds of chance. No EXPECT: a sample has no exact sums.
 */
#include "sample.h"

#include <pthread.h>

#define SMALL  40000 /* of each thread: 64 bytes, every second leaked */
#define MIDDLE 2000  /* 6,000 bytes, all leaked */
#define LARGE  20    /* 1 MiB, all freed */
#define GROWN  500   /* 1,000 to 32,000 bytes by five reallocs, freed by another thread */

static void *grown[4][GROWN];

static NOINLINE void small(void)
{
	for (int i = 0; i < SMALL; i++) {
		void *block = keep(malloc(64));

		if (i % 2)
			free(block);
	}
	STAY();
}

static NOINLINE void middle(void)
{
	for (int i = 0; i < MIDDLE; i++)
		keep(malloc(6000));
	STAY();
}

static NOINLINE void large(void)
{
	for (int i = 0; i < LARGE; i++)
		free(keep(calloc(1, 1 << 20)));
	STAY();
}

static NOINLINE void grow(void **blocks)
{
	for (int i = 0; i < GROWN; i++) {
		blocks[i] = keep(malloc(1000));
		for (size_t size = 2000; size <= 32000; size *= 2)
			blocks[i] = keep(realloc(blocks[i], size));
	}
	STAY();
}

static void *run(void *argument)
{
	small();
	middle();
	large();
	grow(argument);
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, run, grown[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < GROWN; j++)
			free(grown[i][j]);
	puts("done");
	return 0;
}
