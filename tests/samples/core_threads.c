/*
 * heapprof's second test: 1024 blocks of one byte in each of two threads, then a write to NULL.
 *
 * EXPECT keep_bytes: leaked_blocks=2048 leaked_bytes=2048
 */
#include "sample.h"

#include <pthread.h>

static pthread_barrier_t all_there;

static NOINLINE void *keep_bytes(void *argument)
{
	pthread_setname_np(pthread_self(), argument);
	for (int i = 0; i < 1024; i++)
		keep(malloc(1));
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_there); // never left
	return argument;
}

int main(void)
{
	pthread_t threads[2];

	pthread_barrier_init(&all_there, NULL, 3);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, keep_bytes, i ? "second" : "first");
	pthread_barrier_wait(&all_there);
	*(volatile int *)NULL = 0;
	return 0;
}
