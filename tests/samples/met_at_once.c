/*
 * Two threads meet the same frames for the first time at the same time: they allocate in step, each
 * time at another place in the code. Each frame must be defined once.
 *
 * EXPECT meet: calls=512 leaked_blocks=0 threads=2
 */
#include "sample.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define THREADS 2

static atomic_int arrived;

/* Waits until both threads are at this place. */
static inline __attribute__((always_inline)) void in_step(int *turn)
{
	*turn += THREADS;
	atomic_fetch_add(&arrived, 1);
	for (int spins = 0; atomic_load(&arrived) < *turn; spins++)
		if (spins > 100000)
			sched_yield();
}

#define MEET1   (in_step(&turn), free(keep(malloc(16))))
#define MEET4   MEET1, MEET1, MEET1, MEET1
#define MEET16  MEET4, MEET4, MEET4, MEET4
#define MEET64  MEET16, MEET16, MEET16, MEET16
#define MEET256 MEET64, MEET64, MEET64, MEET64

static NOINLINE void *meet(void *unused)
{
	int turn = 0;

	(void)unused;
	MEET256;
	STAY();
	return NULL;
}

int main(void)
{
	pthread_t other;

	REQUIRE(pthread_create(&other, NULL, meet, NULL) == 0);
	meet(NULL);
	pthread_join(other, NULL);
	return 7;
}
