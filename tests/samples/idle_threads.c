/*
 * Threads that never allocate are threads all the same; and no frame of the library lies under a
 * thread's function.
 *
 * EXPECT busy: calls=10 total_bytes=100 leaked_blocks=10
 */
#include "sample.h"

#include <execinfo.h>
#include <pthread.h>

static pthread_barrier_t barrier;

static void *idle(void *argument)
{
	pthread_barrier_wait(&barrier);
	return argument;
}

static NOINLINE void busy(void)
{
	for (int i = 0; i < 10; i++)
		keep(malloc(10));
	STAY();
}

static void *work(void *argument)
{
	void *frames[16];

	/* work, start_thread, clone: nothing in between. */
	REQUIRE(backtrace(frames, 16) <= 3);
	busy();
	pthread_barrier_wait(&barrier);
	return argument;
}

int main(void)
{
	pthread_t threads[4];

	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 4; i++)
		REQUIRE(pthread_create(&threads[i], NULL, i ? idle : work, &threads[i]) == 0);
	for (int i = 0; i < 4; i++) {
		void *result;

		REQUIRE(pthread_join(threads[i], &result) == 0 && result == &threads[i]);
	}
	puts("ok");
	return 7;
}
