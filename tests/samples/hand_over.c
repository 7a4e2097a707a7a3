/*
 * Four threads allocate, four others free what they get; then 300 short threads. Addresses
 * go from thread to thread as fast as they can: a reader that mixes up the order counts leaks.
 *
 * EXPECT produce: calls=40004 total_bytes=3844000 leaked_blocks=4 leaked_bytes=4000 threads=4
 * EXPECT leak_at_end: calls=4 total_bytes=4000 leaked_blocks=4 leaked_bytes=4000 threads=4
 * EXPECT short_life: calls=300 leaked_blocks=0
 */
#include "sample.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define PAIRS 4
#define RING  64

struct ring {
	_Atomic(void *) slots[RING];
};

static struct ring rings[PAIRS];
static size_t block_count = 10000;

static NOINLINE void leak_at_end(void)
{
	keep(malloc(1000));
	STAY();
}

static NOINLINE void *produce(void *argument)
{
	struct ring *ring = argument;

	for (size_t i = 0; i < block_count; i++) {
		void *block = keep(malloc(96));

		while (atomic_load(&ring->slots[i % RING]))
			sched_yield();
		atomic_store(&ring->slots[i % RING], block);
	}
	leak_at_end();
	STAY();
	return NULL;
}

static void *consume(void *argument)
{
	struct ring *ring = argument;

	for (size_t i = 0; i < block_count; i++) {
		void *block;

		while (!(block = atomic_load(&ring->slots[i % RING])))
			sched_yield();
		atomic_store(&ring->slots[i % RING], NULL);
		free(block);
	}
	return NULL;
}

static NOINLINE void *short_life(void *argument)
{
	void *block = keep(malloc(10));

	STAY();
	return block;
}

int main(int argc, char **argv)
{
	int short_count = 300;

	if (argc == 3) { /* smaller, for tests that need the threads and not the numbers */
		block_count = (size_t)atoi(argv[1]);
		short_count = atoi(argv[2]);
	}
	for (int round = 0; round < PAIRS;
	     round++) { /* pair by pair: few processors may be there */
		pthread_t producer, consumer;

		REQUIRE(pthread_create(&producer, NULL, produce, &rings[round]) == 0);
		REQUIRE(pthread_create(&consumer, NULL, consume, &rings[round]) == 0);
		pthread_join(producer, NULL);
		pthread_join(consumer, NULL);
	}
	for (int i = 0; i < short_count; i++) {
		pthread_t thread;
		void *block;

		REQUIRE(pthread_create(&thread, NULL, short_life, NULL) == 0);
		pthread_join(thread, &block);
		free(block);
	}
	puts("ok");
	return 7;
}
