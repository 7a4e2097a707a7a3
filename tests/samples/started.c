/*
 * A program that is not recorded until it starts that itself, three times, with threads that were
 * there before.
 *
 * EXPECT round: calls=9 total_bytes=4506 leaked_blocks=0
 */
#include "sample.h"

#include <mallow/mallow.h>
#include <pthread.h>

static pthread_barrier_t barrier;
static void *blocks[3];

static NOINLINE void round_of(int thread, int number)
{
	blocks[thread] = keep(malloc(500 + (size_t)(thread == 0) + (size_t)(number == 1)));
	STAY();
}

static NOINLINE void round(int thread, int number)
{
	round_of(thread, number);
	STAY();
}

static void *work(void *argument)
{
	int thread = (int)(long)argument;
	void *unknown = keep(malloc(3));

	for (int number = 0; number < 3; number++) {
		pthread_barrier_wait(&barrier); // stopped, or not yet started
		free(keep(malloc(7000)));
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier); // started
		round(thread, number);
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier); // stopped
		free(keep(malloc(8000)));
		free(blocks[thread]);
		pthread_barrier_wait(&barrier);
	}
	free(unknown);
	return NULL;
}

/* The threads do something between two meetings. */
static void let_work(void)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
}

int main(void)
{
	pthread_t threads[3];

	pthread_barrier_init(&barrier, NULL, 4);
	for (long i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, work, (void *)i));
	for (int number = 0; number < 3; number++) {
		let_work();
		mallow_start();
		let_work();
		mallow_stop();
		let_work();
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	puts("ok");
	return 7;
}
