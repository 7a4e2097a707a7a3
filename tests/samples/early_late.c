/*
 * Allocates before every constructor and after every destructor of others: in .preinit_array, by
 * priority, in handlers that are registered while handlers run. With -DLIBRARY it is a library
 * that, linked with -z initfirst, begins before all others, the C library too, and ends after them.
 * Before the C library environ is not set; the agent finds the environment all the same.
 *
 * EXPECT preinit: calls=1 total_bytes=10 leaked_blocks=1
 * EXPECT first_constructor: calls=1 total_bytes=20 leaked_blocks=1
 * EXPECT last_constructor: calls=1 total_bytes=30 leaked_blocks=1
 * EXPECT handler: calls=3 total_bytes=120 leaked_blocks=3
 * EXPECT first_destructor: calls=1 total_bytes=50 leaked_blocks=1
 * EXPECT last_destructor: calls=1 total_bytes=60 leaked_blocks=1
 * EXPECT status_handler: calls=1 total_bytes=70 leaked_blocks=1
 * EXPECT library_begins: calls=1 total_bytes=80 leaked_blocks=1
 * EXPECT library_ends: calls=2 total_bytes=180 leaked_blocks=1 leaked_bytes=90
 */
#include "sample.h"

#ifdef LIBRARY

static NOINLINE __attribute__((constructor)) void library_begins(void)
{
	keep(malloc(80));
	STAY();
}

static NOINLINE __attribute__((destructor)) void library_ends(void)
{
	free(keep(malloc(90)));
	keep(malloc(90));
	STAY();
}

void early_late_library(void)
{
}

#else

extern void early_late_library(void);

static NOINLINE void preinit(void)
{
	keep(malloc(10));
	STAY();
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit_entry)(void) = preinit;

static NOINLINE __attribute__((constructor(101))) void first_constructor(void)
{
	keep(malloc(20));
	STAY();
}

static NOINLINE __attribute__((constructor)) void last_constructor(void)
{
	keep(malloc(30));
	STAY();
}

static int rounds;

static NOINLINE void handler(void)
{
	keep(malloc(40));
	if (++rounds < 3)
		REQUIRE(atexit(handler) == 0);
	STAY();
}

static NOINLINE void status_handler(int status, void *argument)
{
	REQUIRE(status == 7 && argument == &rounds);
	keep(malloc(70));
	STAY();
}

static NOINLINE __attribute__((destructor)) void first_destructor(void)
{
	keep(malloc(50));
	STAY();
}

static NOINLINE __attribute__((destructor(101))) void last_destructor(void)
{
	keep(malloc(60));
	STAY();
}

int main(void)
{
	REQUIRE(on_exit(status_handler, &rounds) == 0);
	REQUIRE(atexit(handler) == 0);
	early_late_library();
	puts("ok");
	fflush(stdout);
	return 7;
}

#endif
