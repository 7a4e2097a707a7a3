/*
 * One thing that stands out, by name: `stands_out grows` keeps memory to its end. `stands_out grows
 * clean` does the same work without it. The run is TICKS ticks long, in each of which something is
 * allocated and freed, whatever the name is. tests/e2e/tool/test_findings.py has what is to be
 * found.
 */
#define _GNU_SOURCE /* pthread_setname_np() */

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <time.h>

#include "sample.h"

#define TICKS   160
#define TICK_NS 3000000
#define BASE    64
#define KEPT    100000

static const char *name;
static bool clean, late;
static void *kept[KEPT];
static size_t kept_count;

static bool is(const char *wanted)
{
	return strcmp(name, wanted) == 0;
}

/* What every program does: 1 MB that comes and goes. */
static NOINLINE void base_work(void)
{
	void *blocks[BASE];

	for (int i = 0; i < BASE; i++)
		blocks[i] = keep(calloc(1, 16384));
	for (int i = 0; i < BASE; i++)
		free(blocks[i]);
	STAY();
}

/* Makes and remembers blocks, in the function that says so. */
#define REMEMBER(count, size)                                                                      \
	for (int remembered = 0; remembered < (count); remembered++) {                             \
		REQUIRE(kept_count < KEPT);                                                        \
		kept[kept_count] = keep(malloc(size));                                             \
		memset(kept[kept_count++], 1, (size));                                             \
	}

static NOINLINE void make_key(void)
{
	REMEMBER(1, 400);
	STAY();
}

static NOINLINE void make_value(void)
{
	REMEMBER(1, 600);
	STAY();
}

/* Never freed, unless clean: at the end. No function below it explains all of it. */
static NOINLINE void cache_put(int count)
{
	for (int i = 0; i < count; i++) {
		make_key();
		make_value();
	}
	STAY();
}

static NOINLINE void forget_all(void)
{
	while (kept_count)
		free(kept[--kept_count]);
	STAY();
}

/*
 * Ticks come at fixed times, so that one that is late on a busy machine delays no other. A part of
 * the run is ten ticks long: if one is four ticks late, the run is not the one that was wanted.
 */
static void wait_tick(void)
{
	static struct timespec due;
	struct timespec now;

	if (!due.tv_sec)
		clock_gettime(CLOCK_MONOTONIC, &due);
	due.tv_nsec += TICK_NS;
	due.tv_sec += due.tv_nsec / 1000000000;
	due.tv_nsec %= 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
		;
	clock_gettime(CLOCK_MONOTONIC, &now);
	late |= (now.tv_sec - due.tv_sec) * 1000000000 + now.tv_nsec - due.tv_nsec > 4 * TICK_NS;
}

static void keep_some(int tick)
{
	if (is("grows") || is("late_begin"))
		cache_put(is("grows") || tick >= TICKS / 2 + 5 ? 4 : 0);
	if (is("teardown"))
		cache_put(20);
	if (is("teardown") && clean && tick % 40 == 39)
		forget_all();
	if (is("steps") && tick % 50 == 25)
		cache_put(100);
	if (is("flat") && tick < TICKS / 4)
		cache_put(10);
	if (is("once") && tick == 10)
		cache_put(500);
	if (is("stopped") && tick < TICKS * 5 / 8)
		cache_put(4);
}

/* A block of 8 MB for two ticks, or for clean of 64 KB. */
static NOINLINE void make_peak(int tick)
{
	static void *large;

	if (tick == 60)
		large = keep(calloc(1, clean ? 65536 : 8000000));
	if (tick == 62)
		free(large);
	STAY();
}

/* malloc(25) hands out 40 bytes. */
static NOINLINE void waste(int tick)
{
	if (tick == 0)
		REMEMBER(KEPT, clean ? 40 : 25);
	STAY();
}

static NOINLINE void churn(void)
{
	void *blocks[100];

	for (int i = 0; i < 200; i++) {
		if (!clean) {
			free(keep(malloc(100)));
			continue;
		}
		blocks[i % 100] = keep(malloc(100));
		for (int j = 0; i % 100 == 99 && j < 100; j++)
			free(blocks[j]);
	}
	STAY();
}

/* Four blocks for each message, freed at once; clean: freed with those of a later batch. */
static NOINLINE void handle_messages(int tick)
{
	static void *parts[5][1000];
	void **part = parts[clean ? tick % 5 : 0];

	for (int i = 0; i < 1000; i++) {
		if (clean)
			free(part[i]);
		part[i] = keep(malloc(100));
		for (int j = 0; !clean && i % 4 == 3 && j < 4; j++) {
			free(part[i - j]);
			part[i - j] = NULL;
		}
	}
	for (int i = 0; tick == TICKS - 1 && i < 5000; i++)
		free(parts[i / 1000][i % 1000]);
	STAY();
}

/* Behind the block comes one that is larger than all holes: so it must move to grow. */
static NOINLINE void append(int tick)
{
	char *block = NULL;
	void *fences[100];

	if (tick % 16)
		return;
	for (int i = 0; i < 100; i++) {
		size_t size = (size_t)(i + 1) * 1000;

		if (!clean || !i)
			block = keep(realloc(block, clean ? 100000 : size));
		fences[i] = keep(malloc(size + 2000));
	}
	for (int i = 0; i < 100; i++)
		free(fences[i]);
	free(block);
	STAY();
}

static sem_t filled, drained;

static void *drain(void *unused)
{
	pthread_setname_np(pthread_self(), "drain");
	for (int i = 0; i < TICKS; i += 40) {
		sem_wait(&filled);
		if (!clean)
			forget_all();
		sem_post(&drained);
	}
	return NULL;
}

/* Another thread frees what this one made; clean: this one does. */
static NOINLINE void hand_over(int tick)
{
	static pthread_t thread;

	if (tick % 40)
		return;
	if (!tick)
		REQUIRE(pthread_create(&thread, NULL, drain, NULL) == 0);
	REMEMBER(10000, 100);
	sem_post(&filled);
	sem_wait(&drained);
	forget_all();
	if (tick + 40 == TICKS)
		pthread_join(thread, NULL);
	STAY();
}

/* Keeps one block in twenty; clean: the first ones, side by side. */
static NOINLINE void scatter(int tick)
{
	const size_t count = 10000;

	if (tick)
		return;
	REMEMBER((int)count, 400);
	for (size_t i = 0; i < count; i++) {
		if (clean ? i < count / 20 : i % 20 == 0)
			continue;
		free(kept[i]);
		kept[i] = NULL;
	}
	STAY();
}

/* 40 MB that the allocator does not give back, because of one block at the top; clean: mapped. */
static NOINLINE void drop(int tick)
{
	void *top;

	if (tick == 30)
		REMEMBER(clean ? 40 : 40000, clean ? 1000000 : 1000);
	if (tick != 50)
		return;
	top = keep(malloc(1000));
	forget_all();
	kept[kept_count++] = top;
	STAY();
}

/* 64 MB of which nothing is written; clean: all is. */
static NOINLINE void ask_for_much(int tick)
{
	if (tick)
		return;
	kept[kept_count++] = keep(malloc(64000000));
	if (clean)
		memset(kept[0], 1, 64000000);
	STAY();
}

/* 16 MB that malloc knows nothing of; clean: 1 MB, that is given back. */
static NOINLINE void map_tiles(int tick)
{
	size_t size = clean ? 1 << 20 : 4 << 20;

	for (int i = 0; tick == 20 && i < 4; i++) {
		void *tile = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

		REQUIRE(tile != MAP_FAILED);
		memset(tile, 1, size);
		if (clean)
			munmap(tile, size);
	}
	STAY();
}

static void work(int tick)
{
	if (is("large_block"))
		make_peak(tick);
	else if (is("slack"))
		waste(tick);
	else if (is("temporary"))
		churn();
	else if (is("churn"))
		handle_messages(tick);
	else if (is("realloc_chains"))
		append(tick);
	else if (is("freed_by_others"))
		hand_over(tick);
	else if (is("sparse_pages"))
		scatter(tick);
	else if (is("stayed_resident"))
		drop(tick);
	else if (is("untouched"))
		ask_for_much(tick);
	else if (is("mapped"))
		map_tiles(tick);
	else
		keep_some(tick);
}

/* Not main, which is everybody's caller. */
static NOINLINE void run(void)
{
	for (int tick = 0; tick < TICKS; tick++) {
		base_work();
		work(tick);
		wait_tick();
	}
	if (is("late"))
		cache_put(500);
	STAY();
}

int main(int count, char **arguments)
{
	bool frees;

	REQUIRE(count > 1);
	name = arguments[1];
	clean = count > 2;
	// Those that are not about what is never freed free all of it.
	frees = clean || is("slack") || is("sparse_pages") || is("stayed_resident") ||
		is("untouched") || is("teardown");
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	run();
	if (frees)
		forget_all();
	return late ? 8 : 7;
}
