/* Other stacks than the first: threads, fibers, after longjmp, very deep ones. */
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

#include "compare.h"
#include "scenes.h"

#define NOINLINE __attribute__((noinline))

static NOINLINE void deep(int depth)
{
	if (depth == 0)
		compare_stack("deep recursion", COMPARE_ALL);
	else
		deep(depth - 1);
	SCENE_KEEP(&depth);
}

static void *run_thread(void *argument)
{
	for (int i = 0; i < 50; i++) {
		deep(i);
		compare_stack("thread", COMPARE_ALL);
	}
	return argument;
}

static void threads(void)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, run_thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

static ucontext_t main_context, fiber_context[2];

static void run_fiber(void)
{
	for (int i = 0; i < 10; i++) {
		compare_stack("fiber", COMPARE_LIBGCC);
		deep(i);
		swapcontext(&fiber_context[0], &fiber_context[1]);
	}
}

static void run_other_fiber(void)
{
	for (;;) {
		compare_stack("other fiber", COMPARE_LIBGCC);
		swapcontext(&fiber_context[1], &fiber_context[0]);
	}
}

static void make_fiber(ucontext_t *fiber, void (*run)(void))
{
	getcontext(fiber);
	fiber->uc_stack.ss_size = 256 * 1024;
	fiber->uc_stack.ss_sp = malloc(fiber->uc_stack.ss_size);
	fiber->uc_link = &main_context;
	makecontext(fiber, run, 0);
}

static void fibers(void)
{
	make_fiber(&fiber_context[0], run_fiber);
	make_fiber(&fiber_context[1], run_other_fiber);
	swapcontext(&main_context, &fiber_context[0]);
	compare_stack("after fibers", COMPARE_ALL);
	free(fiber_context[0].uc_stack.ss_sp);
	free(fiber_context[1].uc_stack.ss_sp);
}

static jmp_buf target;

static NOINLINE void jump_out(int depth)
{
	if (depth == 0)
		longjmp(target, 1);
	if (depth > 0)
		jump_out(depth - 1);
	SCENE_KEEP(&depth);
}

static void jumps(void)
{
	for (volatile int i = 0; i < 20; i++) {
		if (setjmp(target) == 0)
			jump_out(i);
		compare_stack("after longjmp", COMPARE_ALL);
		deep(20 - i);
	}
}

void scenes_stacks(void)
{
	threads();
	fibers();
	jumps();
	deep(20000);
}
