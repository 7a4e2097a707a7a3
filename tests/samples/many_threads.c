/*
 * Fifty threads allocate from stacks of many depths and then wait, so that the agent's memory of
 * each is at its largest; the main thread prints what the kernel says of the process then, in kB.
 * Without arguments nothing is allocated: what the program needs by itself.
 */
#include "sample.h"

#include <pthread.h>
#include <unistd.h>

#define THREADS 50
#define DEPTHS  200
#define ROUNDS  20
#define BIG     (50u << 20)

static pthread_barrier_t barrier;
static int allocates;

static NOINLINE void step(int size)
{
	free(keep(malloc((size_t)size + 1)));
	STAY();
}

static NOINLINE void deeper(int levels)
{
	if (levels)
		deeper(levels - 1);
	step(levels);
	STAY();
}

static NOINLINE void *run(void *argument)
{
	for (int i = 0; i < ROUNDS && allocates; i++)
		deeper(DEPTHS);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	char *big = malloc(BIG);

	(void)argv;
	allocates = argc > 1;
	REQUIRE(big);
	memset(big, 1, BIG);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&threads[i], NULL, run, NULL) == 0);
	pthread_barrier_wait(&barrier);
	printf("%lu %lu %lu\n", sample_kilobytes("VmRSS:"), sample_kilobytes("RssAnon:"),
	       sample_kilobytes("VmSize:"));
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
	free(big);
	return 0;
}
