/*
 * A thread makes a block and frees it at once, but that another one writes what is held back in
 * between. Its times must not be shared then: a free comes after the block that was written.
 *
 * EXPECT freed: calls=300 total_bytes=30000 leaked_blocks=0
 */
#include <mallow/mallow.h>
#include <pthread.h>
#include <sched.h>

#include "sample.h"

#define ROUNDS 300

static int turn;

static void wait_for(int number)
{
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != number)
		sched_yield();
}

static NOINLINE void freed(int round)
{
	void *block = keep(malloc(100));

	__atomic_store_n(&turn, 2 * round + 1, __ATOMIC_RELEASE);
	wait_for(2 * round + 2);
	free(block);
	STAY();
}

static void *work(void *argument)
{
	for (int i = 0; i < ROUNDS; i++)
		freed(i);
	return argument;
}

int main(void)
{
	pthread_t thread;

	REQUIRE(!pthread_create(&thread, NULL, work, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		wait_for(2 * i + 1);
		REQUIRE(mallow_sync() == 0);
		__atomic_store_n(&turn, 2 * i + 2, __ATOMIC_RELEASE);
	}
	REQUIRE(!pthread_join(thread, NULL));
	return 0;
}
