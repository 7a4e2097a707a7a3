/* What compilers do with frames: recursion, alloca, arrays of variable length, realignment. */
#include <alloca.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "scenes.h"

#define NOINLINE __attribute__((noinline))

static NOINLINE int recurse(int depth)
{
	int result = 1;

	if (depth == 0)
		compare_stack("recursion", COMPARE_ALL);
	else
		result += recurse(depth - 1);
	SCENE_KEEP(&result);
	return result;
}

static NOINLINE void use_alloca(int depth, size_t size)
{
	char *memory = alloca(size + (size_t)depth * 16);

	memset(memory, depth, size);
	SCENE_KEEP(memory);
	if (depth == 0)
		compare_stack("alloca", COMPARE_ALL);
	else
		use_alloca(depth - 1, size + 24);
	SCENE_KEEP(memory);
}

/* 32-byte alignment of a local makes gcc realign the stack and find its frame through memory. */
static NOINLINE void realign(int depth, int a, int b, int c, int d, int e, int f, int on_stack)
{
	uint8_t aligned[64] __attribute__((aligned(32)));

	memset(aligned, a + b + c + d + e + f + on_stack, sizeof(aligned));
	SCENE_KEEP(aligned);
	if (depth == 0)
		compare_stack("realigned", COMPARE_ALL);
	else
		realign(depth - 1, b, c, d, e, f, on_stack, a);
	SCENE_KEEP(aligned);
}

static NOINLINE void realign_alloca(int depth, size_t size)
{
	uint8_t aligned[128] __attribute__((aligned(64)));
	char *memory = alloca(size);

	memset(aligned, depth, sizeof(aligned));
	memset(memory, depth, size);
	SCENE_KEEP(aligned);
	SCENE_KEEP(memory);
	if (depth == 0)
		compare_stack("realigned with alloca", COMPARE_ALL);
	else
		realign_alloca(depth - 1, size + 40);
	SCENE_KEEP(memory);
}

static NOINLINE void big_frame(int depth)
{
	char memory[100000]; // its offset does not fit the packed rule

	SCENE_KEEP(memory);
	if (depth == 0)
		compare_stack("frame of 100 kB", COMPARE_ALL);
	else
		big_frame(depth - 1);
	SCENE_KEEP(memory);
}

static NOINLINE void many_registers(int depth, long a, long b, long c)
{
	long d = a * 3 + b, e = b * 5 + c, f = c * 7 + a, g = d ^ e;

	SCENE_KEEP(d);
	if (depth == 0)
		compare_stack("all registers saved", COMPARE_ALL);
	else
		many_registers(depth - 1, e, f, g);
	if (a + b + c + d + e + f + g == 1)
		many_registers(depth, d, e, f);
}

static int compare_ints(const void *a, const void *b)
{
	static unsigned calls;

	if (calls++ % 64 == 0)
		compare_stack("callback of qsort", COMPARE_ALL);
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static NOINLINE void sort(void)
{
	int values[200];

	for (int i = 0; i < 200; i++)
		values[i] = i * 7919 % 1009;
	qsort(values, 200, sizeof(int), compare_ints);
	SCENE_KEEP(values);
}

void scenes_frames(void)
{
	recurse(0);
	recurse(3);
	recurse(100);
	use_alloca(0, 5000);
	use_alloca(10, 17);
	realign(0, 1, 2, 3, 4, 5, 6, 7);
	realign(9, 1, 2, 3, 4, 5, 6, 7);
	realign_alloca(7, 100);
	big_frame(2);
	many_registers(12, 1, 2, 3);
	sort();
}
