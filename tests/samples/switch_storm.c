/*
 * Eight threads allocate while three start and stop the recording as fast as they can, and a
 * fourth does so by signal. switch_storm SWITCHES [SIGNALS]
 * Each of the three switches at least so often, and until the eight have done STEPS_ENOUGH steps in
 * pieces at whose end the recording is on: on a busy machine it could be over before they come to
 * allocate, or before the first start, which opens the recording, is done.
 */
#include "sample.h"

#include <mallow/mallow.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define WORKERS         8
#define SWITCHERS       3
#define BLOCKS          64
#define STEPS_AT_A_TIME 256
#define STEPS_ENOUGH    20000

static volatile int done;
static unsigned long steps;
static int switches;

static void step(void **block, unsigned int number)
{
	size_t size = 1 + (number >> 8 & 1023);

	switch (number >> 24 & 3) {
	case 0:
		free(*block);
		*block = keep(malloc(size));
		break;
	case 1:
		*block = keep(realloc(*block, size));
		break;
	default:
		free(*block);
		*block = keep(calloc(1, size));
	}
}

static void *work(void *argument)
{
	unsigned int number = (unsigned int)(long)argument * 7919 + 1;
	void *blocks[BLOCKS] = {NULL};

	for (int i = 0; !__atomic_load_n(&done, __ATOMIC_RELAXED); i++) {
		if (i % STEPS_AT_A_TIME == STEPS_AT_A_TIME - 1) {
			if (!mallow_api_is_running || mallow_is_running())
				__atomic_add_fetch(&steps, STEPS_AT_A_TIME, __ATOMIC_RELAXED);
			usleep(50); // the recording is to be read by a slow reader
		}
		number = number * 1103515245 + 12345;
		step(&blocks[number >> 16 & (BLOCKS - 1)], number);
		if (!(number & 0xff00))
			mallow_set_tag(number >> 16);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return NULL;
}

static void *switch_often(void *argument)
{
	for (int i = 0; i < switches || __atomic_load_n(&steps, __ATOMIC_RELAXED) < STEPS_ENOUGH;
	     i++) {
		mallow_stop();
		mallow_start();
	}
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS], switchers[SWITCHERS];
	int signals = argc > 2 ? atoi(argv[2]) : 0;

	switches = argc > 1 ? atoi(argv[1]) : 0;
	for (long i = 0; i < WORKERS; i++)
		REQUIRE(!pthread_create(&workers[i], NULL, work, (void *)i));
	for (int i = 0; i < SWITCHERS; i++)
		REQUIRE(!pthread_create(&switchers[i], NULL, switch_often, NULL));
	for (int i = 0; i < signals; i++) {
		kill(getpid(), SIGUSR1);
		usleep(1000);
	}
	for (int i = 0; i < SWITCHERS; i++)
		pthread_join(switchers[i], NULL);
	__atomic_store_n(&done, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	puts("ok");
	return 7;
}
