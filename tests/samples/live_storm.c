/*
 * Eight threads allocate, resize, and free each other's blocks for so many milliseconds, while
 * somebody asks for reports by signal. What is left at the end is exact.
 *
 *     live_storm MILLISECONDS
 *
 * EXPECT leave: calls=512 total_bytes=51200 leaked_blocks=512 leaked_bytes=51200
 * EXPECT churn: leaked_blocks=0 leaked_bytes=0
 */
#include "sample.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#define THREADS 8
#define PLACES  256

static _Atomic(void *) places[PLACES];
static atomic_bool over;

static NOINLINE void *churn(unsigned int random)
{
	void *block = keep(malloc(random % 3000 + 1));

	if (random & 1 << 12)
		block = keep(realloc(block, random % 70000 + 1));
	REQUIRE(block);
	STAY();
	return block;
}

static NOINLINE void leave(void)
{
	for (int i = 0; i < 64; i++)
		keep(malloc(100));
	STAY();
}

static void *run(void *argument)
{
	unsigned int random = (unsigned int)(size_t)argument;

	while (!atomic_load(&over)) {
		random = random * 1103515245u + 12345u;
		free(atomic_exchange(&places[random >> 16 & (PLACES - 1)], churn(random >> 8)));
	}
	leave();
	return NULL;
}

int main(int argc, char **argv)
{
	long milliseconds = argc > 1 ? atol(argv[1]) : 1000;
	struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, run, (void *)(i + 1)));
	printf("running\n");
	fflush(stdout);
	while (nanosleep(&time, &time))
		;
	atomic_store(&over, true);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < PLACES; i++)
		free(atomic_load(&places[i]));
	printf("ok\n");
	fflush(stdout);
	sample_fail(7);
}
