/*
 * ns per capture of stacks of several depths, whose frames differ: sizes, saved registers, some
 * based on rbp. `make bench` builds and runs it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "agent/unwind/unwind.h"

#define ROUNDS   30 /* the best one counts: the others were disturbed */
#define CAPTURES 3000

static struct unwind_stack stack;
static uint64_t pcs[1024];

static void *allocate(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static __attribute__((noinline)) size_t capture(void)
{
	struct unwind_state state = {
		.pc = (uint64_t)__builtin_return_address(0),
		.sp = (uint64_t)__builtin_frame_address(0) + 16,
		.fp = *(uint64_t *)__builtin_frame_address(0),
	};
	size_t count;

	unwind_capture(&state, &stack, pcs, 1024, &count);
	return count;
}

static __attribute__((noinline)) void measure(void)
{
	double best = 1e9;
	size_t count = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double start = now(), each;

		for (int i = 0; i < CAPTURES; i++)
			count = capture();
		each = (now() - start) / CAPTURES;
		best = each < best ? each : best;
	}
	printf("%4zu frames %7.1f ns, %.2f a frame\n", count, best, best / (double)count);
}

static int call(int which, int depth, long a, long b);

#define FRAME(n, ...)                                                                              \
	static __attribute__((noinline)) int frame_##n(int depth, long a, long b)                  \
	{                                                                                          \
		volatile char local[16 + (n)*24];                                                  \
		long c = a * b + (n);                                                              \
                                                                                                   \
		local[0] = (char)c;                                                                \
		__VA_ARGS__;                                                                       \
		if (depth <= 0)                                                                    \
			measure();                                                                 \
		else                                                                               \
			call(depth * 5 + (n), depth - 1, b, c);                                    \
		return local[0] + (int)(c + a);                                                    \
	}
#define USE_RBP __asm__ volatile("" : : "g"(__builtin_alloca((size_t)a & 63)) : "memory")

FRAME(0, USE_RBP)
FRAME(1)
FRAME(2)
FRAME(3)
FRAME(4, USE_RBP)
FRAME(5)
FRAME(6)
FRAME(7)

static inline int call(int which, int depth, long a, long b)
{
	static int (*const volatile frames[])(int, long, long) = {
		frame_0, frame_1, frame_2, frame_3, frame_4, frame_5, frame_6, frame_7};

	return frames[which & 7](depth, a, b);
}

int main(void)
{
	static const int depths[] = {5, 15, 40, 100, 500};
	struct unwind_host host = {.allocate = allocate};

	*(void **)&host.dl_find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
	unwind_init(&host);
	for (unsigned i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
		call(0, depths[i] - 5, 1, 2);
	return 0;
}
