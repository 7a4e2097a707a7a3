/*
 * Fibers on stacks of 8 KiB: allocations on each of them, deep and shallow; switches between them
 * in the middle of the allocator; and a stack that is moved elsewhere between two runs. Links to
 * inner_allocator.
 *
 * EXPECT work: calls=400 total_bytes=40000 leaked_blocks=0
 * EXPECT nested: calls=4 total_bytes=800 leaked_blocks=4
 * EXPECT switched_away: calls=1 total_bytes=64 leaked_blocks=1
 * EXPECT meanwhile: calls=10 total_bytes=320 leaked_blocks=10
 * EXPECT afterwards: calls=10 total_bytes=160 leaked_blocks=10
 */
#include "sample.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define FIBERS 4
#define STACK  8192

extern void (*volatile inner_hook)(void);

static ucontext_t home, fibers[FIBERS];
static int next_fiber;

static NOINLINE void nested(int levels)
{
	if (levels)
		nested(levels - 1);
	else
		keep(malloc(200));
	STAY();
}

static NOINLINE void work(int number)
{
	for (int i = 0; i < 100; i++) {
		void *block = keep(malloc(100));

		REQUIRE(swapcontext(&fibers[number], &home) == 0);
		free(block);
	}
	STAY();
}

static void fiber_main(void)
{
	int number = next_fiber;

	nested(10);
	work(number);
}

/* An 8 KiB stack between two pages that must not be touched. A larger page has it at its end. */
static void *make_stack(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = page < STACK ? STACK : page;
	char *pages = mmap(NULL, room + 2 * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(pages != MAP_FAILED);
	REQUIRE(mprotect(pages, page, PROT_NONE) == 0);
	REQUIRE(mprotect(pages + page + room, page, PROT_NONE) == 0);
	return pages + page + room - STACK;
}

static void make_fiber(ucontext_t *fiber, void (*function)(void))
{
	REQUIRE(getcontext(fiber) == 0);
	fiber->uc_stack.ss_sp = make_stack();
	fiber->uc_stack.ss_size = STACK;
	fiber->uc_link = &home;
	makecontext(fiber, function, 0);
}

static void go_home(void)
{
	inner_hook = NULL;
	REQUIRE(swapcontext(&fibers[0], &home) == 0);
}

static NOINLINE void switched_away(void)
{
	inner_hook = go_home;
	keep(malloc(64));
	STAY();
}

static NOINLINE void meanwhile(void)
{
	keep(malloc(32));
	STAY();
}

static NOINLINE void afterwards(void)
{
	keep(malloc(16));
	STAY();
}

int main(void)
{
	for (int i = 0; i < FIBERS; i++)
		make_fiber(&fibers[i], fiber_main);
	for (int round = 0; round <= 100; round++) {
		for (next_fiber = 0; next_fiber < FIBERS; next_fiber++)
			REQUIRE(swapcontext(&home, &fibers[next_fiber]) == 0);
	}
	make_fiber(&fibers[0], switched_away);
	REQUIRE(swapcontext(&home, &fibers[0]) == 0);
	for (int i = 0; i < 10; i++)
		meanwhile(); /* while fiber 0 is inside malloc */
	REQUIRE(swapcontext(&home, &fibers[0]) == 0);
	for (int i = 0; i < 10; i++)
		afterwards();
	puts("ok");
	return 7;
}
