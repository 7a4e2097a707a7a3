/*
 * Another thread begins a second recording, in which the first thread records nothing. But it is
 * the one that ends the process, or asks for what is held back to be written, by its argument.
 *
 * EXPECT kept: calls=50 total_bytes=5000 leaked_blocks=50 leaked_bytes=5000
 */
#include <mallow/mallow.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "sample.h"

static int ready;

static NOINLINE void kept(void)
{
	for (int i = 0; i < 50; i++)
		keep(malloc(100));
	STAY();
}

static void *restart(void *argument)
{
	mallow_stop();
	mallow_start();
	kept();
	__atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	REQUIRE(argc == 2);
	REQUIRE(!pthread_create(&thread, NULL, restart, NULL));
	while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
		sched_yield();
	if (!strcmp(argv[1], "synced")) {
		REQUIRE(mallow_sync() == 0);
		raise(SIGKILL);
	}
	_exit(7);
}
