/*
 * Four threads allocate by one and the same stack: first at the same time, and free at once; then
 * each holds 1000 blocks at a time, which the next one frees; then one thread after the other holds
 * 3000. So 4000 blocks are the most that there are. Each leaves 10. Which numbers of its stack are
 * in which part of its site depends on how processors were given.
 *
 *     live_parts [sites]     then prints the report that it asks for itself, as JSON
 *
 * EXPECT make: calls=1216040 total_bytes=77826560 leaked_blocks=40 leaked_bytes=2560
 */
#include "sample.h"

#include <mallow/mallow.h>
#include <pthread.h>
#include <unistd.h>

#define THREADS 4
#define PAIRS   300000
#define HELD    1000
#define MOST    3000
#define LEFT    10

static void *held[THREADS][MOST];
static pthread_barrier_t barrier;

static NOINLINE void *make(void)
{
	void *block = keep(malloc(64));

	STAY();
	return block;
}

/* So many blocks into places, of which there are as many; what was there is freed. */
static NOINLINE void fill(void **blocks, int places, int count)
{
	for (int i = 0; i < count; i++) {
		void **place = &blocks[i % places];

		free(*place);
		*place = make();
	}
	STAY();
}

static void empty(void **blocks)
{
	for (int i = 0; i < MOST; i++) {
		free(blocks[i]);
		blocks[i] = NULL;
	}
}

enum { AT_ONCE, HOLD, TURN, LEAVE = TURN + THREADS, STEPS };

static NOINLINE int count_of(int step, int own)
{
	switch (step) {
	case AT_ONCE:
		return PAIRS;
	case HOLD:
		return HELD;
	case LEAVE:
		return LEFT;
	default:
		return step - TURN == own ? MOST : 0;
	}
}

static NOINLINE int places_of(int step)
{
	return step == AT_ONCE ? 1 : MOST;
}

static void *run(void *argument)
{
	int own = (int)(size_t)argument;

	for (int step = 0; step < STEPS; step++) {
		pthread_barrier_wait(&barrier);
		fill(held[own], places_of(step), count_of(step, own));
		pthread_barrier_wait(&barrier);
		if (step != LEAVE)
			empty(held[(own + 1) % THREADS]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct mallow_site_report *report;
	pthread_t threads[THREADS];

	(void)argv;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, run, (void *)i));
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (argc > 1) {
		report = mallow_site_report(NULL, NULL);
		REQUIRE(report && !mallow_site_report_print(report, STDOUT_FILENO, MALLOW_JSON));
		mallow_site_report_free(report);
		return 7;
	}
	printf("ok\n");
	fflush(stdout);
	sample_fail(7);
}
