/*
 * Six threads allocate in waves, small blocks and large ones, and free each wave: one half of it
 * each thread its own, the other half its neighbour's. What is put where a wave was sends the next
 * one elsewhere, until all that is freed, too, and a stage begins at the front again. So regions of
 * memory become empty and full many times, and not in one order.
 *
 *     live_waves STAGES
 *
 * Prints "high" when the last wave of a stage is there and nobody does anything, and waits for a
 * line. In each wave it asks for a report by SIGUSR1. tests/e2e/live/test_live_waves.py knows what
 * each thread has done by then.
 */
#include "sample.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#define THREADS 6
#define WAVES   6
#define SMALL   2000
#define LARGE   41
#define STAYING 8
#define PARTS   24

static void *small[THREADS][SMALL], *large[THREADS][LARGE], *parts[THREADS][WAVES][PARTS];
static pthread_barrier_t barrier;
static int stages;

static NOINLINE void *make_small(int i)
{
	void *block = keep(malloc(24 + (size_t)(i % 4) * 16));

	REQUIRE(block);
	STAY();
	return block;
}

/* Of all three maps of large blocks. */
static NOINLINE void *make_large(int i)
{
	void *block = keep(malloc((i == 0 ? (size_t)1 << 20 : (size_t)1500 << i % 6) + (size_t)i));

	REQUIRE(block);
	STAY();
	return block;
}

static NOINLINE void make_staying(void)
{
	REQUIRE(keep(malloc(777)));
	STAY();
}

static NOINLINE void *make_part(void)
{
	void *block = keep(malloc(8000));

	REQUIRE(block);
	STAY();
	return block;
}

static void make_wave(int self)
{
	for (int i = 0; i < SMALL; i++) {
		small[self][i] = make_small(i);
		if (i < LARGE)
			large[self][i] = make_large(i);
	}
}

/* Those of even numbers: own; of odd ones: the neighbour's. */
static void free_blocks(void **own, void **neighbours, int count)
{
	for (int i = 0; i < count; i++)
		free(i % 2 ? neighbours[i] : own[i]);
}

/* Waits for all threads, and for main twice where that is to happen while nobody does anything. */
static void meet(void)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
}

static void run_stage(int self)
{
	int neighbour = (self + 1) % THREADS;

	for (int wave = 0; wave < WAVES; wave++) {
		make_wave(self);
		meet();
		free_blocks(small[self], small[neighbour], SMALL);
		free_blocks(large[self], large[neighbour], LARGE);
		meet();
		for (int i = 0; i < PARTS; i++)
			parts[self][wave][i] = make_part();
	}
	for (int wave = 0; wave < WAVES; wave++)
		for (int i = 0; i < PARTS; i++)
			free(parts[self][wave][i]);
}

static void *run(void *argument)
{
	int self = (int)(intptr_t)argument;
	char name[16];

	snprintf(name, sizeof(name), "waves %d", self);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < STAYING; i++)
		make_staying();
	for (int stage = 0; stage < stages; stage++)
		run_stage(self);
	return NULL;
}

static void show_height(void)
{
	char line;

	printf("high\n");
	fflush(stdout);
	REQUIRE(read(STDIN_FILENO, &line, 1) == 1);
}

static void lead_wave(int wave)
{
	raise(SIGUSR1);
	pthread_barrier_wait(&barrier);
	if (wave == WAVES - 1)
		show_height();
	pthread_barrier_wait(&barrier);
	meet();
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	stages = argc > 1 ? atoi(argv[1]) : 1;
	// So that large blocks are scattered as small ones are.
	mallopt(M_MMAP_MAX, 0);
	REQUIRE(!pthread_barrier_init(&barrier, NULL, THREADS + 1));
	for (intptr_t i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, run, (void *)i));
	for (int wave = 0; wave < stages * WAVES; wave++)
		lead_wave(wave % WAVES);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("ok\n");
	fflush(stdout);
	sample_fail(7);
}
