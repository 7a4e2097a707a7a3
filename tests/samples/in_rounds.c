/*
 * A round for each byte of its input: four threads, new ones each time, allocate, resize and free
 * blocks in a table that they share, from stacks of which some are new in each round. A byte of
 * output says that the round is over; then nothing happens until the next byte. Argument: how many
 * blocks a thread makes in a round.
 */
#include "sample.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#define PLACES 4096

static _Atomic(void *) table[PLACES];
static int count, rounds;

static NOINLINE void put(uint32_t random)
{
	void *block = keep(malloc(1 + (random >> 16) % 300));

	if (random % 7 == 0)
		block = keep(realloc(block, 400));
	free(atomic_exchange(&table[(random >> 8) % PLACES], block));
	STAY();
}

static NOINLINE void deeper(int levels, uint32_t random)
{
	if (levels)
		deeper(levels - 1, random);
	else
		put(random);
	STAY();
}

static void *fill(void *argument)
{
	uint32_t random = (uint32_t)(uintptr_t)argument;

	for (int i = 0; i < count; i++) {
		random = random * 1103515245 + 12345;
		deeper((int)(random >> 12) % (2 + rounds), random);
	}
	return NULL;
}

static void one_round(void)
{
	pthread_t threads[4];

	rounds++;
	for (uintptr_t i = 0; i < 4; i++)
		REQUIRE(pthread_create(&threads[i], NULL, fill, (void *)(i + 1)) == 0);
	for (int i = 0; i < 4; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char **argv)
{
	char byte;

	count = argc > 1 ? atoi(argv[1]) : 1000;
	while (read(0, &byte, 1) == 1) {
		one_round();
		REQUIRE(write(1, &byte, 1) == 1);
	}
	return 0;
}
