/* unwind_find_frame(): which hooks' frames are still live. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

#include "agent/unwind/unwind.h"
#include "compare.h"
#include "scenes.h"

#define NOINLINE __attribute__((noinline))
#define HOOK     __attribute__((noinline, section("scene_hooks")))

static struct unwind_stack stack;
static uint64_t outer_cfa;

/* Stands for a hook: its CFA is what the guard would remember. */
static NOINLINE enum unwind_nesting ask(void)
{
	struct unwind_state state = {
		.pc = (uint64_t)__builtin_return_address(0),
		.sp = (uint64_t)__builtin_frame_address(0) + 16,
		.fp = *(uint64_t *)__builtin_frame_address(0),
	};

	return unwind_find_frame(&state, &stack, outer_cfa);
}

/* An outer hook, or a nested one. */
static HOOK enum unwind_nesting hook(int depth, bool remember)
{
	volatile enum unwind_nesting answer;

	if (remember)
		outer_cfa = (uint64_t)__builtin_frame_address(0) + 16;
	answer = depth == 0 ? ask() : hook(depth - 1, false);
	return answer;
}

/* Frames that are no hooks, of many sizes, at whose places hooks have been. */
static NOINLINE enum unwind_nesting plain(int depth, volatile char *memory)
{
	volatile char mine[40];
	volatile enum unwind_nesting answer;

	mine[depth] = memory[0];
	answer = depth == 0 ? ask() : plain(depth - 1, mine);
	return answer;
}

static enum unwind_nesting handler_answer;

static void handle(int signal)
{
	volatile char byte = 0;

	(void)signal;
	handler_answer = plain(2, &byte);
}

static HOOK enum unwind_nesting hook_interrupted(void)
{
	outer_cfa = (uint64_t)__builtin_frame_address(0) + 16;
	raise(SIGUSR1);
	return handler_answer;
}

static jmp_buf target;

static HOOK void leave_hook(void)
{
	outer_cfa = (uint64_t)__builtin_frame_address(0) + 16;
	longjmp(target, 1);
}

static NOINLINE void hook_left_by_longjmp(int depth)
{
	if (depth == 0)
		leave_hook();
	if (depth > 0)
		hook_left_by_longjmp(depth - 1);
	SCENE_KEEP(&depth);
}

static ucontext_t main_context, fiber;

static HOOK void run_fiber(void)
{
	outer_cfa = (uint64_t)__builtin_frame_address(0) + 16;
	swapcontext(&fiber, &main_context); // left in the middle of the hook
	compare_expect(ask() == UNWIND_FOUND, "back in the fiber's hook");
}

static void fibers(void)
{
	static char memory[65536];

	getcontext(&fiber);
	fiber.uc_stack.ss_sp = memory;
	fiber.uc_stack.ss_size = sizeof(memory);
	fiber.uc_link = &main_context;
	makecontext(&fiber, run_fiber, 0);
	swapcontext(&main_context, &fiber);
	compare_expect(ask() == UNWIND_NOT_FOUND, "a hook on another fiber is not outer to us");
	swapcontext(&main_context, &fiber);
}

void scenes_nesting(void)
{
	struct sigaction action = {.sa_handler = handle};
	volatile char byte = 0;

	for (int i = 0; i < 20; i++)
		compare_expect(hook(i, true) == UNWIND_FOUND, "a live outer hook");
	for (int i = 0; i < 20; i++)
		compare_expect(plain(i, &byte) == UNWIND_NOT_FOUND, "a hook that has returned");
	for (volatile int i = 0; i < 20; i++) {
		if (setjmp(target) == 0)
			hook_left_by_longjmp(i);
		compare_expect(ask() == UNWIND_NOT_FOUND, "a hook left by longjmp");
		compare_expect(plain(i, &byte) == UNWIND_NOT_FOUND, "and from deeper");
	}
	sigaction(SIGUSR1, &action, NULL);
	compare_expect(hook_interrupted() == UNWIND_FOUND_ACROSS_SIGNAL, "an interrupted hook");
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
	compare_expect(hook_interrupted() == UNWIND_FOUND_ACROSS_SIGNAL,
		       "an interrupted hook, from another stack");
	fibers();
	outer_cfa++;
	compare_expect(ask() == UNWIND_NOT_FOUND, "no frame at all");
}
