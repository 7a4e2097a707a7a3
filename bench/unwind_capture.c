/*
 * ns per capture, by depth of the stack and by what changes between two captures:
 *
 *     same       the same stack again
 *     varies     the innermost one to four frames are others each time, as in real programs
 *     different  all frames are others each time
 *
 * each by walking the whole stack and by the cache of the thread's last stack; and ns for finding
 * the rule of a return address that is new. The frames differ: sizes, saved registers, some based
 * on rbp. The time of the calls themselves is measured without capturing and subtracted.
 * bench/run.py builds and runs it.
 */
#include <dlfcn.h>
#include <glob.h>
#include <iconv.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <wchar.h>

#include "agent/unwind/rule.h"
#include "agent/unwind/stack_cache.h"
#include "agent/unwind/unwind.h"

#define ROUNDS    15 /* the best one counts: the others were disturbed */
#define CAPTURES  512
#define MAX_DEPTH 500
#define VARYING   4  /* innermost frames that change in the pattern `varies` */
#define SWEEPS    20 /* over all the return addresses of measure_misses() */

/* leaf(), pass(), best_of(), measure(), measure_pattern(), measure_depth(), main(), three of libc.
 */
#define OTHER_FRAMES 10

enum way { WALK, CACHE, NO_CAPTURE };
enum pattern { SAME, VARIES, DIFFERENT, PATTERNS };

static struct unwind_stack stack;
static uint64_t pcs[MAX_DEPTH + 100];
static size_t count;
static struct stack_cache cache = {.depth_max = MAX_DEPTH * 2};

/* The stacks of one pattern: shapes[i][level] chooses the function at that level, depths[i] says at
 * which level the stack captures. They are equal above loop_level, which is called only once. */
static uint8_t shapes[CAPTURES][MAX_DEPTH];
static int depths[CAPTURES];
static int loop_level;

static const uint8_t *shape; /* what call() follows, … */
static int stop_level;       /* … as far as this, … */
static int (*at_stop)(void); /* … where it calls this */
static enum way way;
static double found; /* ns, by measure() */

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

static __attribute__((noinline)) void capture(void)
{
	struct unwind_state state = {
		.pc = (uint64_t)__builtin_return_address(0),
		.sp = (uint64_t)__builtin_frame_address(0) + 16,
		.fp = *(uint64_t *)__builtin_frame_address(0),
	};

	enum unwind_end end;

	if (way == WALK) {
		end = unwind_capture(&state, &stack, pcs, sizeof(pcs) / sizeof(pcs[0]), &count);
	} else {
		end = stack_cache_capture(&cache, &state, &stack);
		count = cache.depth;
	}
	if (end != UNWIND_COMPLETE) {
		fprintf(stderr, "unwind_capture: a stack was not complete\n");
		exit(1);
	}
}

static int leaf(void)
{
	if (way != NO_CAPTURE)
		capture();
	return (int)count; /* after the call, lest it become a jump */
}

static int call(int level, long a, long b);

/* FRAME(n, …): functions of different frames that call the next level. clang-format off */
#define FRAME(n, ...)                                                                              \
	static __attribute__((noinline)) int frame_##n(int level, long a, long b)                  \
	{                                                                                          \
		volatile char local[16 + (n)*24];                                                  \
		long c = a * b + (n);                                                              \
                                                                                                   \
		local[0] = (char)c;                                                                \
		__VA_ARGS__;                                                                       \
		c += call(level + 1, b, c);                                                        \
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
/* clang-format on */

static inline int call(int level, long a, long b)
{
	static int (*const volatile frames[])(int, long, long) = {
		frame_0, frame_1, frame_2, frame_3, frame_4, frame_5, frame_6, frame_7};

	return level == stop_level ? at_stop() : frames[shape[level]](level, a, b);
}

/* ns for each of the stacks, from loop_level on. */
static __attribute__((noinline)) double pass(void)
{
	double start = now();

	for (int i = 0; i < CAPTURES; i++) {
		shape = shapes[i];
		stop_level = depths[i];
		call(loop_level, i, 3);
	}
	return (now() - start) / CAPTURES;
}

static __attribute__((noinline)) double best_of(enum way chosen)
{
	double best = 1e12;

	way = chosen;
	for (int round = 0; round < ROUNDS; round++) {
		double each = pass();

		best = each < best ? each : best;
	}
	return best;
}

/* At loop_level: captures all the stacks, again and again. */
static __attribute__((noinline)) int measure(void)
{
	enum way wanted = way;

	at_stop = leaf;
	found = best_of(wanted);
	found -= best_of(NO_CAPTURE);
	way = wanted;
	return 0;
}

/* A function other than the last one at this level. */
static uint8_t another(uint8_t last)
{
	static uint64_t random = 88172645463325252U;

	random ^= random << 13;
	random ^= random >> 7;
	random ^= random << 17;
	return (uint8_t)((last + 1 + random % 7) % 8);
}

static void make_shapes(enum pattern pattern, int levels)
{
	loop_level = pattern == SAME ? levels : pattern == VARIES ? levels - VARYING : 0;
	for (int i = 0; i < CAPTURES; i++) {
		for (int level = 0; level < levels; level++)
			shapes[i][level] = i && level < loop_level
						   ? shapes[0][level]
						   : another(shapes[i ? i - 1 : 0][level]);
		depths[i] = pattern == VARIES ? loop_level + 1 + i % VARYING : levels;
	}
}

static __attribute__((noinline)) void measure_pattern(enum pattern pattern, int levels)
{
	make_shapes(pattern, levels);
	shape = shapes[0];
	stop_level = loop_level;
	at_stop = measure;
	call(0, 1, 2);
	printf("  %9.1f", found);
}

/* One line: the frames, each pattern. */
static __attribute__((noinline)) void measure_depth(int frames)
{
	printf("%6d", frames);
	for (enum pattern pattern = SAME; pattern < PATTERNS; pattern++)
		measure_pattern(pattern, frames - OTHER_FRAMES);
	if (count != (size_t)frames) {
		fprintf(stderr, "unwind_capture: %zu frames instead of %d\n", count, frames);
		exit(1);
	}
	printf("\n");
}

/* ns for the rule of one return address, over many functions of the C library. */
static void measure_misses(void)
{
	static void *const functions[] = {
		(void *)qsort,   (void *)printf, (void *)malloc,  (void *)fopen,  (void *)strtod,
		(void *)regcomp, (void *)glob,   (void *)mktime,  (void *)system, (void *)getenv,
		(void *)bsearch, (void *)scanf,  (void *)wcstold, (void *)perror, (void *)iconv,
	};
	const size_t all = sizeof(functions) / sizeof(functions[0]);
	double best = 1e12;

	for (int sweep = 0; sweep < SWEEPS; sweep++) {
		struct unwind_rule rule;
		double each = now();

		for (size_t i = 0; i < all * 8; i++)
			rule_find_slow((uint64_t)functions[i % all] + 8 * (i / all + 1), &rule);
		each = (now() - each) / (double)(all * 8);
		best = each < best ? each : best;
	}
	printf("\na return address that is new: %.0f\n", best);
}

int main(void)
{
	static const int sizes[] = {15, 40, 100, 500};
	struct unwind_host host = {.allocate = allocate};

	*(void **)&host.dl_find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
	unwind_init(&host);
	for (way = WALK; way <= CACHE; way++) {
		printf("%s\nframes       same     varies  different\n",
		       way == WALK ? "walking the whole stack"
				   : "\nwith the cache of the thread's last stack");
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			measure_depth(sizes[i]);
	}
	measure_misses();
	return 0;
}
