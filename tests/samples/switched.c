/*
 * Starts and stops its own recording: what is allocated while it is off is not recorded, the ends
 * of what was recorded before are. Runs with and without the library.
 *
 * EXPECT before: calls=2 total_bytes=203 leaked_blocks=0
 * EXPECT while_off: calls=1 total_bytes=302 leaked_blocks=0
 * EXPECT after: calls=2 total_bytes=805 leaked_blocks=1 leaked_bytes=400
 */
#include "sample.h"

#include <mallow/mallow.h>
#include <pthread.h>

static void *first, *second, *unknown, *third;

static NOINLINE void before(void)
{
	first = keep(malloc(101));
	second = keep(malloc(102));
	STAY();
}

/* A thread that begins while it is off, and ends a block that was recorded. */
static void *end_first(void *argument)
{
	free(keep(malloc(900)));
	free(first);
	return argument;
}

static NOINLINE void while_off(void)
{
	pthread_t thread;

	unknown = keep(malloc(201));
	free(keep(malloc(202)));
	free(keep(calloc(2, 100)));
	unknown = keep(realloc(unknown, 301));
	second = keep(realloc(second, 302)); // recorded: its block was
	REQUIRE(!pthread_create(&thread, NULL, end_first, NULL));
	REQUIRE(!pthread_join(thread, NULL));
	STAY();
}

static NOINLINE void after(void)
{
	keep(malloc(400));
	third = keep(malloc(405));
	free(unknown); // whose allocation is not known
	free(second);
	free(third);
	STAY();
}

int main(void)
{
	int with = mallow_is_running();

	REQUIRE(mallow_sync() == (with ? 0 : -1));
	before();
	for (int i = 0; i < 2; i++) // stopping twice is stopping once
		mallow_stop();
	REQUIRE(!mallow_is_running());
	while_off();
	for (int i = 0; i < 2; i++)
		mallow_start();
	REQUIRE(mallow_is_running() == with);
	after();
	puts("ok");
	return 7;
}
