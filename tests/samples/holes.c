/*
 * Makes holes in its own memory, lets other things happen, and maps the holes again: what it
 * unmapped is its own to fill. Nobody may have mapped anything there meanwhile, as the kernel would
 * have it who chooses the highest hole that is large enough. The C library does not: its heap and
 * all stacks are where they are before.
 *
 *     holes          holes of each size from a page to 16 MiB
 *     holes grows    the hole is below a stack that grows (MAP_GROWSDOWN)
 *
 * EXPECT allocate: calls=28800 leaked_blocks=0 threads=16
 */
#include "sample.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE        4096ul
#define ROOM        (64ul << 20)
#define LARGEST     (16ul << 20)
#define THREADS     16
#define ROUNDS      6 /* of a thread */
#define CALLS       300
#define STACK       (256ul << 10)
#define FIRST       (64ul << 10) /* of a stack that grows */
#define GROWN_DEPTH 6000

static char stacks[THREADS][STACK] __attribute__((aligned(4096)));
static pthread_barrier_t barrier, end;
static char *room;

static NOINLINE void allocate(size_t size)
{
	void *block = keep(malloc(size));

	REQUIRE(block);
	free(block);
	STAY();
}

/* Different stacks: more of them need more memory. */
static NOINLINE void deeper(int depth, size_t size)
{
	if (depth & 1)
		deeper(depth >> 1, size);
	else if (depth)
		deeper((depth >> 1) - 1, size + 1);
	else
		allocate(size);
	STAY();
}

static void *map(void *place, size_t size, int flags)
{
	return mmap(place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1,
		    0);
}

/* So that a hole in the room is the highest of its size: the kernel would take that. */
static void fill_holes_above(void)
{
	for (size_t size = LARGEST; size >= PAGE; size /= 2) {
		char *filled;

		do {
			filled = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			REQUIRE(filled != MAP_FAILED);
		} while (filled > room);
		REQUIRE(munmap(filled, size) == 0);
	}
}

static void make_hole(size_t size)
{
	REQUIRE(munmap(room + ROOM / 2, size) == 0);
}

static void fill_hole(size_t size)
{
	char *hole = room + ROOM / 2;
	char *found = map(hole, size, MAP_FIXED_NOREPLACE);

	if (found != hole)
		fprintf(stderr, "hole of %zu: %s\n", size, strerror(errno));
	REQUIRE(found == hole);
	memset(hole, 0x5a, size);
}

static void check_hole(size_t size)
{
	for (size_t i = 0; i < size; i++)
		REQUIRE(room[ROOM / 2 + i] == 0x5a);
}

static void *run(void *argument)
{
	int number = (int)(size_t)argument;

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < CALLS; i++)
			deeper((number * ROUNDS + round) * CALLS + i, 16);
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier); // the holes change
	}
	pthread_barrier_wait(&end); // none takes over what another has left
	return NULL;
}

static void run_child(size_t size)
{
	pid_t child = fork();
	int status;

	REQUIRE(child >= 0);
	if (!child) {
		for (int i = 0; i < CALLS; i++)
			deeper(i, 16);
		fill_hole(size);
		for (int i = 0; i < CALLS; i++)
			deeper(i, 16);
		check_hole(size);
		_exit(0);
	}
	REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

/* A new thread for each hole, besides those that go on; and a child. */
static void make_holes(void)
{
	pthread_t threads[THREADS];
	pthread_attr_t attributes;
	size_t size = PAGE;

	pthread_attr_init(&attributes);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_barrier_init(&end, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) {
		size = size < LARGEST ? size * 2 : PAGE;
		REQUIRE(pthread_attr_setstack(&attributes, stacks[i], STACK) == 0);
		make_hole(size);
		REQUIRE(pthread_create(&threads[i], &attributes, run, (void *)(size_t)i) == 0);
		for (int round = 0; round < ROUNDS; round++) {
			pthread_barrier_wait(&barrier);
			if (round == 0)
				run_child(size);
			if (round % 2)
				make_hole(size);
			else
				fill_hole(size);
			if (round % 2 == 0)
				check_hole(size);
			pthread_barrier_wait(&barrier);
		}
		fill_hole(size);
	}
	pthread_barrier_wait(&end);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static ucontext_t main_context, grown;

/* Frames of a KiB, which allocate now and then: the stack grows by a page and more at a time. */
static NOINLINE int grow(int depth)
{
	volatile char frame[1000];

	frame[0] = (char)depth;
	if (depth % 4 == 0)
		deeper(depth, 16);
	return depth ? grow(depth - 1) + frame[0] : 0;
}

static void grow_by_and_by(void)
{
	for (int depth = 1; depth < GROWN_DEPTH; depth += 100)
		grow(depth);
}

/* The room's last part is a stack that grows into the hole below. */
static void let_grow(void)
{
	char *stack = map(room + ROOM - FIRST, FIRST, MAP_FIXED | MAP_GROWSDOWN | MAP_STACK);

	REQUIRE(stack == room + ROOM - FIRST && munmap(room, ROOM - FIRST) == 0);
	getcontext(&grown);
	grown.uc_stack.ss_sp = stack;
	grown.uc_stack.ss_size = FIRST;
	grown.uc_link = &main_context;
	makecontext(&grown, grow_by_and_by, 0);
	swapcontext(&main_context, &grown);
}

int main(int argc, char **argv)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	room = map(NULL, ROOM, MAP_NORESERVE);
	REQUIRE(room != MAP_FAILED);
	fill_holes_above();
	if (argc > 1 && !strcmp(argv[1], "grows"))
		let_grow();
	else
		make_holes();
	puts("ok");
	return 7;
}
