/*
 * Allocations before main, after main, in destructors of thread-specific keys and at exit.
 *
 * EXPECT before_main: calls=2 total_bytes=30 leaked_blocks=1 leaked_bytes=20
 * EXPECT after_main: calls=1 total_bytes=40 leaked_blocks=1
 * EXPECT at_exit: calls=1 total_bytes=50 leaked_blocks=1
 * EXPECT key_destructor: calls=30 total_bytes=1800 leaked_blocks=10 leaked_bytes=600
 */
#include "sample.h"

#include <pthread.h>

static pthread_key_t key;

static NOINLINE __attribute__((constructor)) void before_main(void)
{
	free(keep(malloc(10)));
	keep(malloc(20));
	STAY();
}

static NOINLINE __attribute__((destructor)) void after_main(void)
{
	keep(malloc(40));
	STAY();
}

static NOINLINE void at_exit(void)
{
	keep(malloc(50));
	STAY();
}

/* Runs three times for each thread: it sets the key again twice. */
static NOINLINE void key_destructor(void *value)
{
	char *block = keep(malloc(60));

	*block = (char)(*(char *)value + 1);
	if (*block < 4)
		pthread_setspecific(key, block);
	free(value);
	STAY();
}

static void *thread(void *argument)
{
	char *block = keep(malloc(60));

	*block = 1;
	pthread_setspecific(key, block);
	return argument;
}

int main(void)
{
	atexit(at_exit);
	pthread_key_create(&key, key_destructor);
	for (int i = 0; i < 10; i++) {
		pthread_t id;

		REQUIRE(pthread_create(&id, NULL, thread, NULL) == 0);
		pthread_join(id, NULL);
	}
	puts("ok");
	return 7;
}
