/*
 * Many threads. Arguments: how many in all, and how many at once.
 *
 * EXPECT-CROWD work: calls=3000 total_bytes=90000 leaked_blocks=1000 threads=1000
 * EXPECT-MANY work: calls=30000 total_bytes=900000 leaked_blocks=10000 threads=10000
 */
#include "sample.h"

#include <pthread.h>

#define MOST 1000

static pthread_barrier_t barrier;

static NOINLINE void work(void)
{
	free(keep(malloc(30)));
	keep(malloc(30));
	free(keep(malloc(30)));
	STAY();
}

static void *run(void *argument)
{
	work();
	pthread_barrier_wait(&barrier); // all of a round are there at the same time
	return argument;
}

static void round_of(pthread_t *threads, int count)
{
	pthread_attr_t attributes;

	REQUIRE(pthread_attr_init(&attributes) == 0);
	REQUIRE(pthread_attr_setstacksize(&attributes, 64 << 10) == 0);
	REQUIRE(pthread_barrier_init(&barrier, NULL, (unsigned)count) == 0);
	for (int i = 0; i < count; i++)
		REQUIRE(pthread_create(&threads[i], &attributes, run, NULL) == 0);
	for (int i = 0; i < count; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
	pthread_barrier_destroy(&barrier);
	pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv)
{
	static pthread_t threads[MOST];
	int all, at_once;

	REQUIRE(argc == 3);
	all = atoi(argv[1]);
	at_once = atoi(argv[2]);
	REQUIRE(at_once <= MOST && all % at_once == 0);
	for (int done = 0; done < all; done += at_once)
		round_of(threads, at_once);
	puts("ok");
	return 7;
}
