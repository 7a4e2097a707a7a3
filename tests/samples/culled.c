/*
 * Blocks of all kinds of lives on four threads, for CULL. Whoever runs when, what each site comes
 * to is the same, temporary blocks included: threads pass blocks on at barriers only.
 *
 *     culled            as said below
 *     culled MS         each thread sleeps so long while it has blocks of `lasting`
 *
 * EXPECT churn: calls=40000 total_bytes=3990000 leaked_blocks=0 temporary=20000
 * EXPECT passed_on: calls=4000 total_bytes=128000 leaked_blocks=0 temporary=4
 * EXPECT grown: calls=4000 total_bytes=1540000 leaked_blocks=40 leaked_bytes=40000
 * EXPECT lasting: calls=40 total_bytes=40000 leaked_blocks=20 leaked_bytes=20000 temporary=0
 * EXPECT left: calls=4 total_bytes=2800 leaked_blocks=4
 */
#include <pthread.h>
#include <unistd.h>

#include "sample.h"

#define THREADS 4
#define BLOCKS  1000

static pthread_barrier_t barrier;
static void *passed[THREADS][BLOCKS];
static unsigned int pause_ms;

static NOINLINE void churn(int turns)
{
	for (int i = 0; i < turns; i++) {
		void *outer = keep(malloc((size_t)(90 + i % 20)));
		void *inner = keep(calloc(1, 100));

		free(inner);
		free(outer);
	}
	STAY();
}

static NOINLINE void passed_on(void **blocks)
{
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = keep(malloc(32));
	STAY();
}

/* Chains of reallocs: of each ten, one is never freed. */
static NOINLINE void grown(void)
{
	for (int chain = 0; chain < 100; chain++) {
		char *block = NULL;

		for (size_t size = 1; size <= 10; size++)
			block = keep(realloc(block, size * size * 10));
		if (chain % 10)
			free(block);
	}
	STAY();
}

static NOINLINE void *lasting(void)
{
	void *block = keep(malloc(1000));

	STAY();
	return block;
}

static NOINLINE void left(void)
{
	keep(aligned_alloc(64, 700));
	STAY();
}

static void *run(void *argument)
{
	size_t number = (size_t)argument;
	void *blocks[10];

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 10; i++)
		blocks[i] = lasting();
	churn(5000);
	passed_on(passed[number]);
	pthread_barrier_wait(&barrier);
	// Each frees what its neighbour has made, the newest block of that one included.
	for (int i = 0; i < BLOCKS; i++)
		free(passed[(number + 1) % THREADS][i]);
	pthread_barrier_wait(&barrier);
	usleep(pause_ms * 1000);
	grown();
	for (int i = 0; i < 5; i++)
		free(blocks[i]);
	left();
	pthread_barrier_wait(&barrier);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	pause_ms = argc > 1 ? (unsigned int)atoi(argv[1]) : 0;
	REQUIRE(!pthread_barrier_init(&barrier, NULL, THREADS));
	for (size_t i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, run, (void *)i));
	for (size_t i = 0; i < THREADS; i++)
		REQUIRE(!pthread_join(threads[i], NULL));
	return 0;
}
