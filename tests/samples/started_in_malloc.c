/*
 * Recording is stopped when a thread that has recorded nothing enters malloc and realloc, and on
 * when these return. What they return is not recorded, so its end is not, either.
 *
 * EXPECT entered_stopped: calls=0
 * EXPECT entered_started: calls=2 total_bytes=300 leaked_blocks=0
 */
#include "sample.h"

#include <mallow/mallow.h>
#include <pthread.h>
#include <sched.h>

extern void (*volatile inner_hook)(void);

static int inside; // the thread is in the allocator

static void wait_for(int value)
{
	while (__atomic_load_n(&inside, __ATOMIC_SEQ_CST) != value)
		sched_yield();
}

static void have_it_started(void)
{
	inner_hook = NULL;
	__atomic_store_n(&inside, 1, __ATOMIC_SEQ_CST);
	wait_for(0);
}

static NOINLINE void *entered_stopped(int resize)
{
	void *block;

	inner_hook = have_it_started;
	block = keep(resize ? realloc(NULL, 100) : malloc(100));
	STAY();
	return block;
}

static NOINLINE void *entered_started(void *block)
{
	free(block); // not recorded
	block = keep(malloc(150));
	STAY();
	return block;
}

static void *run(void *argument)
{
	free(entered_started(entered_stopped(argument != NULL)));
	return NULL;
}

int main(void)
{
	for (long resize = 0; resize < 2; resize++) {
		pthread_t thread;

		mallow_stop();
		REQUIRE(pthread_create(&thread, NULL, run, (void *)resize) == 0);
		wait_for(1);
		mallow_start();
		__atomic_store_n(&inside, 0, __ATOMIC_SEQ_CST);
		REQUIRE(pthread_join(thread, NULL) == 0);
	}
	puts("ok");
	return 7;
}
