/*
 * Pools of the program's own, of which tests/e2e/record/test_pools.py knows what each holds. Runs
 * with and without the library. Blocks are carved from static memory, or from where malloc's lie.
 *
 *	pools            nested, threads, resets, wrong frees, odd sizes
 *	pools fork       a child that frees its parent's blocks and goes on
 *	pools switched   stopped for a while, by whichever thread
 *	pools hand       handed over between two threads again and again
 *	pools storm      four threads, while another stops and starts all the time
 *	pools signals N  and so many handlers that interrupt whatever it is, mallow itself too
 *	pools many       a thousand arenas of one name, and some without a name
 */
#include "sample.h"

#include <mallow/mallow.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static char memory[1 << 20];
static char arena, slab, shared, first, second; // whose addresses are pools

static NOINLINE void fill_arena(int blocks)
{
	for (int i = 0; i < blocks; i++)
		mallow_pool_alloc(&arena, memory + 1000 * i, 100 + (size_t)i);
	STAY();
}

/* A slab in a block of the arena, its first block where that begins, and where malloc's begins. */
static NOINLINE void nest(void)
{
	char *block = keep(malloc(5000));

	mallow_pool_alloc(&arena, block, 5000);
	for (int i = 0; i < 5; i++)
		mallow_pool_alloc(&slab, block + 1000 * i, 1000);
	for (int i = 0; i < 5; i++)
		mallow_pool_free(&slab, block + 1000 * i);
	mallow_pool_free(&arena, block);
	free(block);
	STAY();
}

/* Freed before its thread is handed out another one. */
static NOINLINE void come_and_go(void)
{
	for (int i = 0; i < 10; i++) {
		mallow_pool_alloc(&slab, memory + 3, 7); // of any alignment
		mallow_pool_free(&slab, memory + 3);
	}
	STAY();
}

static NOINLINE void *hand_out(void *argument)
{
	int number = (int)(intptr_t)argument;

	mallow_set_tag((uint32_t)number);
	for (int i = 0; i < 1000; i++)
		mallow_pool_alloc(&shared, memory + 10000 * number + i, 1);
	STAY();
	return NULL;
}

/* Four threads; their blocks are freed by the first one, but for those of the last. */
static NOINLINE void share(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, hand_out, (void *)(intptr_t)(i + 1)));
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_join(threads[i], NULL));
	for (int number = 1; number < 4; number++)
		for (int i = 0; i < 1000; i++)
			mallow_pool_free(&shared, memory + 10000 * number + i);
	STAY();
}

static NOINLINE void same_address(void)
{
	mallow_pool_alloc(&first, memory, 10);
	mallow_pool_alloc(&second, memory, 20);
	mallow_pool_free(&first, memory);
	mallow_pool_alloc(&second, memory, 30); // without having been freed
	mallow_pool_alloc(&second, memory + 16, 0);
	mallow_pool_alloc(&second, NULL, 1000); // nothing
	STAY();
}

static NOINLINE void free_wrongly(void)
{
	mallow_pool_free(&first, memory);
	mallow_pool_free(&first, memory + 8);
	mallow_pool_free(&slab, memory); // of another pool
	mallow_pool_free(&slab, NULL);   // nothing
	STAY();
}

static void use_all(void)
{
	mallow_pool_name(&arena, "arena");
	mallow_pool_name(&slab, "slab");
	mallow_pool_name(&shared, "shared");
	mallow_pool_name(&shared, "");
	mallow_pool_name(&shared, NULL);
	fill_arena(10); // 1,045 bytes
	mallow_pool_reset(&arena);
	mallow_pool_reset(&arena);
	fill_arena(20); // 2,190 bytes
	nest();
	come_and_go();
	share();
	same_address();
	free_wrongly();
}

static void fork_one(void)
{
	int status;
	pid_t child;

	mallow_pool_name(&arena, "arena");
	fill_arena(10);
	child = fork();
	if (!child) {
		mallow_pool_name(&arena, "arena");
		mallow_pool_free(&arena, memory); // the parent's
		mallow_pool_alloc(&arena, memory + 1000, 5000);
		mallow_pool_alloc(&slab, memory, 300);
		_exit(0);
	}
	REQUIRE(child > 0 && waitpid(child, &status, 0) == child && !status);
	mallow_pool_free(&arena, memory);
}

static void *end_blocks(void *argument)
{
	mallow_pool_free(&arena, memory + 1000);  // recorded
	mallow_pool_free(&slab, memory + 600000); // not recorded
	return argument;
}

static NOINLINE void while_stopped(void)
{
	pthread_t thread;

	mallow_pool_alloc(&slab, memory + 600000, 60);
	mallow_pool_alloc(&slab, memory + 700000, 70);
	mallow_pool_name(&slab, "slab");
	mallow_pool_free(&arena, memory);
	REQUIRE(!pthread_create(&thread, NULL, end_blocks, NULL));
	REQUIRE(!pthread_join(thread, NULL));
	for (int i = 0; i < 100; i++) {
		mallow_pool_alloc(&arena, memory + 800000, 80);
		mallow_pool_free(&arena, memory + 800000);
		mallow_pool_reset(&shared);
		mallow_pool_alloc(&shared, memory + 900000, 90);
	}
	STAY();
}

static void switch_off(void)
{
	mallow_pool_name(&arena, "arena");
	fill_arena(10);
	mallow_pool_alloc(&shared, memory + 500000, 50);
	mallow_stop();
	while_stopped();
	mallow_start();
	mallow_pool_free(&arena, memory + 2000);
	mallow_pool_free(&slab, memory + 700000); // of which nothing is known
	mallow_pool_alloc(&slab, memory + 700000, 77);
}

static int step; // atomic

static void wait_for(int wanted)
{
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) != wanted)
		sched_yield();
}

static void go_to(int next)
{
	__atomic_store_n(&step, next, __ATOMIC_RELEASE);
}

#define HANDED_OVER 500

static void *give_back(void *argument)
{
	for (int i = 0; i < HANDED_OVER; i++) {
		wait_for(1);
		mallow_pool_free(&shared, memory);
		go_to(0);
	}
	return argument;
}

static void hand_over(void)
{
	pthread_t thread;

	REQUIRE(!pthread_create(&thread, NULL, give_back, NULL));
	for (int i = 0; i < HANDED_OVER; i++) {
		wait_for(0);
		mallow_pool_alloc(&shared, memory, 10);
		go_to(1);
	}
	REQUIRE(!pthread_join(thread, NULL));
}

#define STORM_ROUNDS 5000

static void *allocate_and_free(void *argument)
{
	char *own = argument;

	for (int i = 0; i < STORM_ROUNDS; i++) {
		mallow_pool_alloc(own, own, 10);
		mallow_pool_alloc(own, own + 16, 20);
		mallow_pool_free(own, own);
		if (i % 2)
			mallow_pool_free(own, own + 16);
		else
			mallow_pool_reset(own);
		free(keep(malloc(30)));
	}
	__atomic_fetch_add(&step, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void storm(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, allocate_and_free, memory + 1000 * i));
	do {
		mallow_stop();
		sched_yield();
		mallow_start();
		sched_yield();
	} while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < 4);
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_join(threads[i], NULL));
}

static volatile int handled;

static void handle(int signal)
{
	mallow_pool_alloc(&shared, memory + handled++, 1);
	STAY();
}

/* Each handler hands out a block, and the program all the time. */
static void interrupt(int handlers)
{
	const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};

	REQUIRE(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &often, NULL));
	while (handled < handlers) {
		mallow_pool_alloc(&slab, memory, 2);
		free(keep(malloc(100)));
		mallow_pool_free(&slab, memory);
	}
	REQUIRE(!setitimer(ITIMER_REAL, &never, NULL));
	fprintf(stderr, "%d\n", handled);
}

static NOINLINE void serve(char *request)
{
	mallow_pool_name(request, "request");
	mallow_pool_alloc(request, request, 40);
	mallow_pool_alloc(request, request + 40, 60);
	mallow_pool_reset(request);
	STAY();
}

static void use_many(void)
{
	for (int i = 0; i < 1000; i++)
		serve(memory + 100 * (i % 500)); // at 500 addresses
	for (int i = 0; i < 20; i++)
		mallow_pool_alloc(memory + i, memory + 500000 + i, 1);
	mallow_pool_name(memory + 1, "late");
	mallow_pool_alloc(memory + 1, memory + 600000, 6);
	mallow_pool_free(memory + 1, memory + 500001); // from before it had that name
}

int main(int argc, char **argv)
{
	if (argc < 2)
		use_all();
	else if (!strcmp(argv[1], "fork"))
		fork_one();
	else if (!strcmp(argv[1], "switched"))
		switch_off();
	else if (!strcmp(argv[1], "hand"))
		hand_over();
	else if (!strcmp(argv[1], "storm"))
		storm();
	else if (!strcmp(argv[1], "signals") && argc > 2)
		interrupt(atoi(argv[2]));
	else
		use_many();
	puts("ok");
	return 7;
}
