/*
 * Blocks of early(), late(), and early() again, by another call of it, with 50 ms of computing in
 * between. Prints for each, in seconds, when it was surely not yet there, and when it surely was.
 */
#include "sample.h"

#include <stdio.h>
#include <time.h>

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static NOINLINE void early(void)
{
	keep(malloc(10));
	STAY();
}

static NOINLINE void late(void)
{
	keep(malloc(20));
	STAY();
}

static void compute(void)
{
	double end = now() + 0.05;

	while (now() < end)
		;
}

int main(void)
{
	double times[6];

	times[0] = now();
	early();
	times[1] = now();
	compute();
	times[2] = now();
	late();
	times[3] = now();
	compute();
	times[4] = now();
	early();
	times[5] = now();
	for (int i = 0; i < 6; i++)
		printf("%.9f\n", times[i]);
	return 0;
}
