/*
 * Threads that allocate and free as fast as they can: pairs [threads] [pairs each] [depth].
 *
 * Each pair is one malloc and one free of a small block, called below `depth` more frames. The
 * nanoseconds a pair, of the slowest thread, go to standard error: standard output has to be the
 * same in every run.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_THREADS 64
#define KEPT        16 /* blocks of a thread that live at a time */

struct worker {
	pthread_t thread;
	long pairs, depth, sum;
	double ns;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static __attribute__((noinline)) void pairs(struct worker *worker)
{
	void *kept[KEPT] = {NULL};
	double begin = now();

	for (long i = 0; i < worker->pairs; i++) {
		char *block = malloc((size_t)(16 + i % 8 * 16));

		if (!block)
			abort();
		*(volatile char *)block = (char)i;
		worker->sum += i % 8;
		free(kept[i % KEPT]);
		kept[i % KEPT] = block;
	}
	worker->ns = (now() - begin) / (double)worker->pairs;
	for (int i = 0; i < KEPT; i++)
		free(kept[i]);
}

static __attribute__((noinline)) long descend(struct worker *worker, long depth)
{
	volatile long after = 1; /* or compilers make a loop of it */

	if (depth > 0)
		return descend(worker, depth - 1) + after;
	pairs(worker);
	return after;
}

static void *run(void *worker)
{
	return (void *)descend(worker, ((struct worker *)worker)->depth);
}

static long argument(int argc, char **argv, int index, long otherwise)
{
	return argc > index ? atol(argv[index]) : otherwise;
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	char *volatile left = malloc(1); /* so that there is something to report */
	long threads = argument(argc, argv, 1, 2), sum = 0;
	double slowest = 0;

	if (!left || threads < 1 || threads > MAX_THREADS)
		return 2;
	for (long i = 0; i < threads; i++) {
		workers[i].pairs = argument(argc, argv, 2, 10000000);
		workers[i].depth = argument(argc, argv, 3, 0);
		if (pthread_create(&workers[i].thread, NULL, run, &workers[i]))
			return 1;
	}
	for (long i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		sum += workers[i].sum;
		slowest = workers[i].ns > slowest ? workers[i].ns : slowest;
	}
	printf("%ld threads, %ld pairs each, sum %ld\n", threads, workers[0].pairs, sum);
	fprintf(stderr, "%.2f\n", slowest);
	return 0;
}
