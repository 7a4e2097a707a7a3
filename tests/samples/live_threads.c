/*
 * Threads with names that allocate for each other, for MODE=live: what each of them allocated, and
 * whose blocks it freed, is exact.
 *
 *   maker    allocates 1000 blocks of 100 bytes and frees 200 of them
 *   taker    frees 300 of the maker's, allocates 50 of 1000 bytes
 *   resizer  resizes 100 of the maker's to 200 bytes, and moves 10 of its own
 *   again    three threads of one name, one after the other, 7 blocks of 16 bytes each
 *
 * EXPECT make: calls=1000 total_bytes=100000 leaked_blocks=400 leaked_bytes=40000
 * EXPECT take: calls=50 total_bytes=50000 leaked_blocks=50 leaked_bytes=50000
 * EXPECT resize: calls=100 total_bytes=20000 leaked_blocks=100 leaked_bytes=20000
 * EXPECT move: calls=20 total_bytes=1000010000 leaked_blocks=0
 * EXPECT come_again: calls=21 total_bytes=336 leaked_blocks=21 leaked_bytes=336
 */
#include "sample.h"

#include <pthread.h>

#define BLOCKS 1000

static void *blocks[BLOCKS];

static NOINLINE void make(void)
{
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = keep(malloc(100));
	STAY();
}

static NOINLINE void take(void)
{
	for (int i = 0; i < 50; i++)
		keep(malloc(1000));
	STAY();
}

static NOINLINE void resize(void)
{
	for (int i = 500; i < 600; i++)
		REQUIRE(blocks[i] = keep(realloc(blocks[i], 200)));
	STAY();
}

/* So large that it fails is a realloc that changes nothing. */
static NOINLINE void move(void)
{
	for (int i = 0; i < 10; i++) {
		void *block = keep(malloc(1000)), *other;

		other = keep(realloc(block, 100 * 1000 * 1000));
		REQUIRE(other);
		REQUIRE(!keep(realloc(other, (size_t)1 << 62)));
		free(other);
	}
	STAY();
}

static NOINLINE void come_again(void)
{
	for (int i = 0; i < 7; i++)
		keep(malloc(16));
	STAY();
}

static void *maker(void *argument)
{
	make();
	for (int i = 0; i < 200; i++)
		free(blocks[i]);
	return argument;
}

static void *taker(void *argument)
{
	for (int i = 200; i < 500; i++)
		free(blocks[i]);
	take();
	return argument;
}

static void *resizer(void *argument)
{
	resize();
	move();
	return argument;
}

static void *again(void *argument)
{
	come_again();
	return argument;
}

struct role {
	const char *name;
	void *(*run)(void *);
};

static void *begin(void *argument)
{
	const struct role *role = argument;

	pthread_setname_np(pthread_self(), role->name);
	role->run(NULL);
	return NULL;
}

int main(void)
{
	static struct role roles[] = {{"maker", maker}, {"taker", taker}, {"resizer", resizer},
				      {"again", again}, {"again", again}, {"again", again}};

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		pthread_t thread;

		REQUIRE(!pthread_create(&thread, NULL, begin, &roles[i]));
		pthread_join(thread, NULL);
	}
	printf("ok\n");
	fflush(stdout);
	sample_fail(7);
}
