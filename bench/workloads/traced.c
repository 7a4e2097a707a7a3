/*
 * What `mallow memleak` and bcc's memleak attach to. Each line of standard input is done in turn:
 *
 *     pairs DEPTH COUNT   COUNT pairs of malloc and free below DEPTH more frames, always of one
 *                         stack; answers with the nanoseconds of processor time that each took
 *     keep COUNT          COUNT blocks that stay, of several sizes, from 1,024 stacks; answers
 *                         with COUNT
 *
 * Two blocks of each `pairs` stay, too, so that a report shows its stack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEVELS 10 /* two ways on each: 1,024 stacks */

static void *volatile last;

static double processor_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static __attribute__((noinline)) void pairs(long count)
{
	double begin = processor_ns();

	for (long i = 0; i < count; i++) {
		last = malloc(64);
		free(last);
	}
	begin = processor_ns() - begin;
	for (int i = 0; i < 2; i++)
		last = malloc(64);
	printf("%.1f\n", begin / (double)count);
}

static __attribute__((noinline)) long descend(long depth, long count)
{
	volatile long after = 1; // or compilers make a loop of it

	if (depth > 0)
		return descend(depth - 1, count) + after;
	pairs(count);
	return after;
}

static void keep_one(long number, int level);

static __attribute__((noinline)) void left(long number, int level)
{
	keep_one(number >> 1, level - 1);
}

static __attribute__((noinline)) void right(long number, int level)
{
	keep_one(number >> 1, level - 1);
}

/* The lowest bits of the number are the way to malloc(). All blocks stay reachable. */
static __attribute__((noinline)) void keep_one(long number, int level)
{
	if (level > 0) {
		(number & 1 ? right : left)(number, level);
		return;
	}

	void **block = malloc((size_t)(16 + number * 37 % 1009));

	if (!block)
		abort();
	*block = last;
	last = block;
}

int main(void)
{
	long depth, count;
	char line[100];

	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "pairs %ld %ld", &depth, &count) == 2) {
			descend(depth, count);
		} else if (sscanf(line, "keep %ld", &count) == 1) {
			for (long i = 0; i < count; i++)
				keep_one(i, LEVELS);
			printf("%ld\n", count);
		} else {
			return 2;
		}
		fflush(stdout);
	}
	return 0;
}
