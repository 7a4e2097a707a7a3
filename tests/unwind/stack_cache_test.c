/*
 * The validated stack cache against walks that remember nothing: words of made-up stacks changed
 * one at a time, and a program that moves its stack at random, on several threads.
 *
 *     stack_cache_test [--long] [SEED]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache_check.h"
#include "cache_program.h"
#include "cache_words.h"

#define THREADS          4 /* every second one runs a program */
#define WORDS_CAPTURES   800000ul
#define PROGRAM_CAPTURES 250000ul
#define LONG             20

static unsigned long times = 1;

static void *run(void *argument)
{
	struct cache_check *check = argument;
	unsigned number = (unsigned)(check->random % THREADS);

	check->random = check->random * UINT64_C(0x9e3779b97f4a7c15) | 1;
	if (number % 2)
		cache_program_run(check, PROGRAM_CAPTURES * times);
	else
		cache_words_run(check, WORDS_CAPTURES * times);
	return NULL;
}

/* A test that never got to what it is for has not succeeded. */
static bool met_all(const struct cache_check *check)
{
	return check->captures > 1000 && check->kept > check->captures / 2 &&
	       check->leaves > check->captures / 40 && check->texts > check->leaves / 40 &&
	       check->set > 100;
}

int main(int argc, char **argv)
{
	static struct cache_check checks[THREADS];
	pthread_t threads[THREADS];
	uint64_t seed = 1;
	unsigned long cut = 0, elsewhere = 0;
	bool failed = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--long") == 0)
			times = LONG;
		else
			seed = strtoull(argv[i], NULL, 0);
	}
	printf("seed %llu\n", (unsigned long long)seed);
	cache_check_init();
	cache_program_init();
	for (unsigned i = 0; i < THREADS; i++) {
		checks[i].random = seed * THREADS + i;
		checks[i].depth_max = i < THREADS / 2 ? CACHE_CHECK_SMALL : CACHE_CHECK_LARGE;
		if (pthread_create(&threads[i], NULL, run, &checks[i]))
			return 2;
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < THREADS; i++) {
		const struct cache_check *check = &checks[i];

		printf("%s %lu captures, %lu kept, %lu by segments, %lu by texts, %lu set, %lu "
		       "broken, %lu cut: %lu differences\n",
		       i % 2 ? "program" : "words  ", check->captures, check->kept, check->leaves,
		       check->texts, check->set, check->broken, check->cut, check->differences);
		failed |= check->differences > 0 || !met_all(check);
		cut += check->cut;
		elsewhere += check->elsewhere;
	}
	printf("%lu of those that were cut, elsewhere\n", elsewhere);
	return failed || cut < 1000 || elsewhere > cut / 20;
}
