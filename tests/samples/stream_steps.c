/*
 * Does what each line of its input says, and answers "done LINE". At the end of the input it ends.
 *
 * N: N allocations, of which 100 live at a time, from as many functions as there are depths.
 *
 * tN: as many by a thread of their own, which stays.
 */
#include "sample.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define KEPT 100

static NOINLINE void step(unsigned long i, void **kept)
{
	free(kept[i % KEPT]);
	// Sizes and addresses that no compression foresees.
	kept[i % KEPT] = keep(malloc((i * 2654435761u >> 7) % 20000 + 1));
	STAY();
}

static NOINLINE void deeper(int levels, unsigned long i, void **kept)
{
	if (levels)
		deeper(levels - 1, i, kept);
	else
		step(i, kept);
	STAY();
}

static void allocate(unsigned long count, void **kept)
{
	for (unsigned long i = 0; i < count; i++)
		deeper((int)(i * 7 % 20), i, kept);
}

static pthread_barrier_t allocated;

static void *thread(void *count)
{
	void *kept[KEPT] = {NULL};

	allocate((unsigned long)count, kept);
	pthread_barrier_wait(&allocated);
	for (;;)
		pause();
	return NULL;
}

int main(void)
{
	static void *kept[KEPT];
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		pthread_t created;

		if (line[0] == 't') {
			REQUIRE(pthread_barrier_init(&allocated, NULL, 2) == 0);
			REQUIRE(pthread_create(&created, NULL, thread,
					       (void *)strtoul(line + 1, NULL, 10)) == 0);
			pthread_barrier_wait(&allocated);
		} else {
			allocate(strtoul(line, NULL, 10), kept);
		}
		printf("done %s", line);
		fflush(stdout);
	}
	return 0;
}
