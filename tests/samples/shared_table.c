/*
 * Four threads put blocks into one table, and free what lay there: a large recording, in which most
 * blocks are freed by another thread. Then it waits for the end of its input, and allocates again.
 *
 * EXPECT put: calls=600000
 * EXPECT after_all: calls=100 total_bytes=1000 leaked_blocks=100
 */
#include "sample.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define PLACES 4096

static _Atomic(void *) table[PLACES];

static NOINLINE void put(uint32_t random)
{
	free(atomic_exchange(&table[random % PLACES], keep(malloc(1 + (random >> 16) % 300))));
	STAY();
}

static void *fill(void *argument)
{
	uint32_t random = (uint32_t)(uintptr_t)argument;

	for (int i = 0; i < 150000; i++)
		put(random = random * 1103515245 + 12345);
	return NULL;
}

static NOINLINE void after_all(void)
{
	for (int i = 0; i < 100; i++)
		keep(malloc(10));
	STAY();
}

int main(void)
{
	pthread_t threads[4];

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, fill, (void *)(i + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	while (getchar() != EOF)
		;
	after_all();
	return 0;
}
