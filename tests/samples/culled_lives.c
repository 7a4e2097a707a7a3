/*
 * Blocks and chains of reallocs by several threads, which free and resize each other's, at random.
 * Each block has a size of its own. At the end a line for each chain:
 *
 *   start in ns, least and most ns that it lived (0 0: it still does), sizes of its blocks
 *
 * Times are measured outside of and inside of the calls, so the truth lies between them.
 *
 *   culled_lives SEED    random
 *   culled_lives quiet   ten blocks and one chain, and nothing else for a while
 */
#include <inttypes.h>
#include <pthread.h>
#include <time.h>

#include "sample.h"

#define THREADS 3
#define STEPS   1500
#define SLOTS   24
#define CHAINS  8192
#define LINKS   24

struct chain {
	void *block;
	uint64_t before, after; /* its first allocation */
	uint64_t ending, ended; /* 0: it was not freed */
	uint32_t sizes[LINKS];
	int count;
};

static struct chain chains[CHAINS];
static int chain_count, next_size = 10000;
static struct chain *slots[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void pause_for(uint64_t ns)
{
	uint64_t end = now() + ns;

	while (now() < end)
		;
}

static uint32_t draw(uint32_t *state, uint32_t range)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % range;
}

static NOINLINE struct chain *begin(void)
{
	struct chain *chain = &chains[chain_count++];

	REQUIRE(chain_count < CHAINS);
	chain->sizes[chain->count++] = (uint32_t)next_size;
	chain->before = now();
	chain->block = keep(malloc((size_t)next_size++));
	chain->after = now();
	return chain;
}

static NOINLINE void resize(struct chain *chain)
{
	chain->sizes[chain->count++] = (uint32_t)next_size;
	chain->block = keep(realloc(chain->block, (size_t)next_size++));
}

static NOINLINE void end(struct chain *chain)
{
	chain->ending = now();
	free(chain->block);
	chain->ended = now();
}

static void step(uint32_t *state)
{
	struct chain **slot = &slots[draw(state, SLOTS)];

	pthread_mutex_lock(&lock);
	if (!*slot) {
		*slot = begin();
	} else if ((*slot)->count < LINKS && draw(state, 3)) {
		resize(*slot);
	} else {
		end(*slot);
		*slot = NULL;
	}
	pthread_mutex_unlock(&lock);
	if (draw(state, 16) == 0)
		pause_for(draw(state, 3) ? 50000 : 4000000);
}

static void *work(void *argument)
{
	uint32_t state = (uint32_t)(uintptr_t)argument;

	for (int i = 0; i < STEPS; i++)
		step(&state);
	return NULL;
}

static void be_quiet(void)
{
	struct chain *quiet[10], *grown = begin();

	for (int i = 0; i < 10; i++)
		quiet[i] = begin();
	resize(grown);
	pause_for(20000000);
	for (int i = 0; i < 10; i++)
		end(quiet[i]);
	end(grown);
}

static void be_random(uint32_t seed)
{
	pthread_t threads[THREADS];

	for (uint32_t i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, work,
					(void *)(uintptr_t)(seed * THREADS + i)));
	for (int i = 0; i < THREADS; i++)
		REQUIRE(!pthread_join(threads[i], NULL));
}

int main(int argc, char **argv)
{
	uint64_t start = now();

	if (strcmp(argv[1], "quiet") == 0)
		be_quiet();
	else
		be_random((uint32_t)atoi(argv[1]));
	for (int i = 0; i < chain_count; i++) {
		const struct chain *chain = &chains[i];

		printf("%" PRIu64 " %" PRIu64 " %" PRIu64, chain->before - start,
		       chain->ending ? chain->ending - chain->after : 0,
		       chain->ended ? chain->ended - chain->before : 0);
		for (int j = 0; j < chain->count; j++)
			printf(" %u", chain->sizes[j]);
		printf("\n");
	}
	return 0;
}
