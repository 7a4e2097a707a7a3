/*
 * Eight threads take blocks from shared places, resize or free what they got, and put others
 * there: an address freed by one is handed to another at once. Nothing is lost: the number of
 * calls is exact, and so is what is left.
 *
 * EXPECT make: calls=80000 leaked_blocks=0
 * EXPECT leave: calls=64 total_bytes=6400 leaked_blocks=64
 */
#include "sample.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 8
#define ROUNDS  10000
#define PLACES  64

static _Atomic(void *) places[PLACES];

/* Each call is one allocation: a malloc, or a realloc of a block that any thread made. */
static NOINLINE void *make(void *old, size_t size)
{
	void *block = keep(realloc(old, size));

	REQUIRE(block);
	STAY();
	return block;
}

static NOINLINE void leave(void)
{
	keep(malloc(100));
	STAY();
}

static void *run(void *argument)
{
	unsigned int random = (unsigned int)(size_t)argument;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned int place = (random = random * 1103515245u + 12345u) >> 16 & (PLACES - 1);
		void *old = atomic_exchange(&places[place], NULL);

		if (random & 1 << 8) {
			free(old);
			old = NULL;
		}
		old = atomic_exchange(&places[place], make(old, (random >> 20) + 1));
		free(old);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&threads[i], NULL, run, (void *)(i + 1)) == 0);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
	for (int i = 0; i < PLACES; i++)
		free(atomic_load(&places[i]));
	for (int i = 0; i < PLACES; i++)
		leave();
	puts("ok");
	return 7;
}
