/*
 * Two threads, each with an arena of its own, so that the events of both share times
 * (src/agent/event/event_clock.h), and large blocks, whose order between threads must be true all
 * the same: in relay() one is freed before the other thread allocates the next, in overlap() after
 * it.
 *
 * EXPECT small: calls=320000 leaked_blocks=0 threads=2
 * EXPECT relay: calls=800 leaked_blocks=0 threads=2
 * EXPECT overlap: calls=800 leaked_blocks=0 threads=2
 */
#include "sample.h"

#include <pthread.h>
#include <stdatomic.h>

#define PAIRS   160000
#define ROUNDS  200
#define RELAYED 100000
#define LAPPED  110000

static atomic_int turn;

static void wait_for(int value)
{
	while (atomic_load(&turn) < value)
		;
}

static NOINLINE void small(int count)
{
	for (int i = 0; i < count; i++)
		free(keep(malloc(24)));
	STAY();
}

/* self: 0 or 1. What stands before the wait leaves a time that could be shared behind it. */
static NOINLINE void relay(int self, int begin)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *large;

		free(keep(malloc(32)));
		wait_for(begin + 2 * i + self);
		large = keep(malloc(RELAYED));
		free(large);
		atomic_fetch_add(&turn, 1);
	}
	STAY();
}

static NOINLINE void overlap(int self, int begin)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *large;

		wait_for(begin + 3 * i + self);
		large = keep(malloc(LAPPED));
		free(keep(malloc(32)));
		atomic_fetch_add(&turn, 1);
		wait_for(begin + 3 * i + 2);
		free(large);
		if (self)
			atomic_fetch_add(&turn, 1);
		wait_for(begin + 3 * i + 3);
	}
	STAY();
}

static void *run(void *argument)
{
	int self = argument != NULL;

	atomic_fetch_add(&turn, 1);
	wait_for(2);
	small(PAIRS);
	relay(self, 2);
	overlap(self, 2 + 2 * ROUNDS);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, run, &thread) == 0);
	run(NULL);
	REQUIRE(pthread_join(thread, NULL) == 0);
	puts("ok");
	return 7;
}
