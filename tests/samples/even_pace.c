/*
 * Threads allocate at an even pace: each keeps as many blocks as PLACES says, and frees one for
 * each that it makes. Arguments: how many threads, how many allocations in all, and in how many
 * milliseconds. A thread that is late does not wait. Prints CLOCK_MONOTONIC in nanoseconds at the
 * end.
 */
#include "sample.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define PLACES  25000
#define AT_ONCE 500 /* allocations without a look at the clock */

struct worker {
	pthread_t thread;
	uint32_t random;
	void *places[PLACES];
};

static long each;      /* allocations of a thread */
static uint64_t begun; /* ns */
static uint64_t lasts; /* ns */

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static NOINLINE void *make(size_t size)
{
	void *block = keep(malloc(size));

	STAY();
	return block;
}

static NOINLINE void *make_deeper(size_t size, int levels)
{
	void *block = levels ? make_deeper(size, levels - 1) : make(size);

	STAY();
	return block;
}

static void *work(void *argument)
{
	struct worker *worker = argument;

	for (long i = 0; i < each; i++) {
		uint32_t random = worker->random = worker->random * 1103515245 + 12345;
		void **place = &worker->places[(random >> 8) % PLACES];

		free(*place);
		*place = make_deeper(1 + (random >> 16) % 500, (int)(random >> 12 & 7));
		if (i % AT_ONCE == 0) {
			uint64_t due = begun + lasts * (uint64_t)i / (uint64_t)each;
			uint64_t time = now();

			if (time < due)
				usleep((useconds_t)((due - time) / 1000));
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 4;
	long all = argc > 2 ? atol(argv[2]) : 40000;
	static struct worker workers[16];

	REQUIRE(threads > 0 && threads <= 16);
	each = all / threads;
	lasts = (uint64_t)(argc > 3 ? atol(argv[3]) : 0) * 1000000;
	begun = now();
	for (int i = 0; i < threads; i++) {
		workers[i].random = (uint32_t)i + 1;
		REQUIRE(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
	}
	for (int i = 0; i < threads; i++)
		REQUIRE(pthread_join(workers[i].thread, NULL) == 0);
	printf("%llu\n", (unsigned long long)now());
	fflush(stdout);
	return 0;
}
