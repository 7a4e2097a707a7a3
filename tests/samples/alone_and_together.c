/*
 * Two threads in turns: one allocates for a while alone, so that its events need no exact times
 * (src/agent/event/event_clock.h), then both hand blocks and addresses to each other as fast as
 * they can. Blocks are too large for glibc's caches of each thread and there is one arena, so that
 * an address freed by one is at once given to the other. A time that is too old shows as a block
 * never freed or an address given out twice. At the end a block outlives a pause, and a mark is
 * set. An argument: so many hand-overs of each turn, instead of TOGETHER.
 *
 * EXPECT alone: calls=560000 leaked_blocks=0
 * EXPECT hand_over: calls=18000 leaked_blocks=0
 * EXPECT take_addresses: calls=18000 leaked_blocks=0
 * EXPECT pause_with_block: calls=1 total_bytes=5000 leaked_blocks=0
 */
#include "sample.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <time.h>

#include "mallow/mallow.h"

#define TURNS    6
#define ALONE    80000 /* events of more than two chunks of the recording */
#define TOGETHER 3000
#define LARGE    2000
#define OTHER    2016 /* as large, to tell who allocated */

static int together = TOGETHER;
static _Atomic(void *) passed;
static atomic_int turn; /* counts the handovers of the right to go on */

static void wait_for(int value)
{
	while (atomic_load(&turn) < value)
		;
}

static NOINLINE void alone(void)
{
	for (int i = 0; i < ALONE; i++)
		free(keep(malloc(24)));
	STAY();
}

/* The other thread frees what this one allocated. */
static NOINLINE void hand_over(void)
{
	for (int i = 0; i < together; i++) {
		while (atomic_load(&passed))
			;
		atomic_store(&passed, keep(malloc(LARGE)));
	}
	while (atomic_load(&passed))
		;
	STAY();
}

static NOINLINE void receive(void)
{
	for (int i = 0; i < together; i++) {
		void *block;

		while (!(block = atomic_load(&passed)))
			;
		free(block);
		atomic_store(&passed, NULL);
	}
	STAY();
}

/* Addresses go round by way of the one arena. */
static NOINLINE void take_addresses(int count)
{
	for (int i = 0; i < count; i++)
		free(keep(malloc(OTHER)));
	STAY();
}

/* In each turn the other one is alone first. */
static void *run(void *argument)
{
	int first = argument != NULL;

	for (int i = 0; i < TURNS; i++) {
		bool mine = i % 2 == first;

		wait_for(3 * i);
		if (mine) {
			alone();
			atomic_fetch_add(&turn, 1);
			hand_over();
			atomic_fetch_add(&turn, 1);
		} else {
			wait_for(3 * i + 1);
			receive();
			wait_for(3 * i + 2);
		}
		take_addresses(together / 2);
		if (!mine)
			atomic_fetch_add(&turn, 1);
	}
	return NULL;
}

static NOINLINE void pause_with_block(void)
{
	const struct timespec time = {.tv_nsec = 60000000};
	void *block = keep(malloc(5000));

	nanosleep(&time, NULL);
	free(block);
	STAY();
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1)
		together = atoi(argv[1]);
	mallopt(M_ARENA_MAX, 1);
	REQUIRE(pthread_create(&thread, NULL, run, &thread) == 0);
	run(NULL);
	REQUIRE(pthread_join(thread, NULL) == 0);
	alone();
	pause_with_block();
	free(keep(malloc(7001)));
	mallow_mark("here");
	free(keep(malloc(7002)));
	puts("ok");
	return 7;
}
