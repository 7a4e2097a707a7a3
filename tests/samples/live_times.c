/*
 * Blocks of early(), late(), and early() again, by another call of it, with 50 ms of computing in
 * between. Prints for each, in seconds, when it was surely not yet there, and when it surely was.
 * Before, ten blocks of soon(), by ten calls of it, 50 us apart: less than a tick of the kernel's
 * clock.
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

static NOINLINE void soon(void)
{
	keep(malloc(30));
	STAY();
}

static void compute(double seconds)
{
	double end = now() + seconds;

	while (now() < end)
		;
}

int main(void)
{
	double times[6];

	// Each macro is a call of its own: a stack, and so a site.
#define SOON() (soon(), compute(50e-6))
	SOON(), SOON(), SOON(), SOON(), SOON(), SOON(), SOON(), SOON(), SOON(), SOON();
	times[0] = now();
	early();
	times[1] = now();
	compute(0.05);
	times[2] = now();
	late();
	times[3] = now();
	compute(0.05);
	times[4] = now();
	early();
	times[5] = now();
	for (int i = 0; i < 6; i++)
		printf("%.9f\n", times[i]);
	return 0;
}
