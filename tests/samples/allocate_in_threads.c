/*
 * Four threads allocate and free; each does so more often than the one before it. They run one
 *after the other, and none ends before all are done.
 *
 *	allocate_in_threads COUNT
 */
#include "sample.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t done;

static NOINLINE void *allocate(void *argument)
{
	pthread_mutex_lock(&mutex);
	for (long i = 0; i < (long)argument; i++)
		free(keep(malloc((size_t)(100 + i % 50))));
	pthread_mutex_unlock(&mutex);
	pthread_barrier_wait(&done);
	return NULL;
}

int main(int argc, char **argv)
{
	long count = atol(argv[argc - 1]);
	pthread_t threads[4];

	pthread_barrier_init(&done, NULL, 4);
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, allocate, (void *)(count * (i + 1)));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 7;
}
