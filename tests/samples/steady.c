/*
 * Allocates for ever in as many threads as its argument says, and reports each allocation once it
 * is done: a byte to the pipe on descriptor 3. Made to be killed: what was reported must be in the
 * recording.
 */
#include "sample.h"

#include <pthread.h>
#include <unistd.h>

static NOINLINE void step(unsigned long i, void **kept)
{
	void *block = keep(malloc(i % 1000 + 1));

	free(*kept);
	*kept = block;
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

static void *steady(void *argument)
{
	void *kept = NULL;

	for (unsigned long i = 0;; i++) {
		deeper((int)(i * 7 % 60), i, &kept);
		REQUIRE(write(3, "x", 1) == 1);
	}
	return argument;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 1; i < threads; i++) {
		pthread_t thread;

		REQUIRE(pthread_create(&thread, NULL, steady, NULL) == 0);
	}
	steady(NULL);
}
