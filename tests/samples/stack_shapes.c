/*
 * Stacks of unusual shape: alloca, arrays of variable size, frames that are aligned anew or larger
 * than a guard page, no frame pointer, calls back from the C library, a program that walks its own
 * stack. Every block is made below root().
 *
 * EXPECT root: calls=800 leaked_blocks=0
 * EXPECT with_alloca: calls=100 total_bytes=1000
 * EXPECT with_array: calls=100 total_bytes=2000
 * EXPECT realigned: calls=100 total_bytes=3000
 * EXPECT with_large_frame: calls=100 total_bytes=4000
 * EXPECT without_frame_pointer: calls=100 total_bytes=5000
 * EXPECT compare: calls=100 total_bytes=6000
 * EXPECT walks: calls=100 total_bytes=7000
 * EXPECT in_handler: calls=100 total_bytes=8000
 */
#include "sample.h"

#include <execinfo.h>
#include <signal.h>
#include <stdint.h>

#define ROUNDS 100
#define FRAMES 64

static int frames_without[ROUNDS], round_number;

static NOINLINE void block(size_t size)
{
	free(keep(malloc(size)));
	STAY();
}

static NOINLINE void with_alloca(int number)
{
	char *room = __builtin_alloca((size_t)number * 100 + 1);

	room[number * 100] = 1;
	keep(room);
	block(10);
	STAY();
}

static NOINLINE void with_array(int number)
{
	char room[number * 37 + 1];

	room[number] = 1;
	keep(room);
	block(20);
	STAY();
}

#ifdef __clang__
#define REALIGN
#else
#define REALIGN __attribute__((force_align_arg_pointer))
#endif

REALIGN static NOINLINE void realigned(int number)
{
	char room[128] __attribute__((aligned(128)));

	REQUIRE((uintptr_t)keep(room) % 128 == 0);
	room[number] = 1;
	keep(room);
	block(30);
	STAY();
}

static NOINLINE void with_large_frame(int number)
{
	volatile char room[200000];

	for (size_t i = 0; i < sizeof(room); i += 4096)
		room[i] = (char)number;
	block(40);
	STAY();
}

#ifdef __clang__
static NOINLINE
#else
__attribute__((optimize("omit-frame-pointer"))) static NOINLINE
#endif
	void
	without_frame_pointer(int number)
{
	__asm__ volatile("" ::"r"(number) : "rbp", "rbx", "r12", "r13", "r14", "r15");
	block(50);
	STAY();
}

static NOINLINE int compare(const void *left, const void *right)
{
	if (round_number >= 0)
		block(60);
	round_number = -1;
	return *(const int *)left - *(const int *)right;
}

/* The program's own walk finds its own frames and no others, in the middle of all this. */
static NOINLINE int walks(int levels)
{
	void *frames[FRAMES];
	int before, after;

	if (levels)
		return walks(levels - 1) + (int)(uintptr_t)keep(NULL);
	before = backtrace(frames, FRAMES);
	block(70);
	after = backtrace(frames, FRAMES);
	REQUIRE(before == after && before > 10);
	return before;
}

static NOINLINE void in_handler(int signal)
{
	void *frames[FRAMES];

	REQUIRE(signal == SIGUSR1 && backtrace(frames, FRAMES) > 3);
	block(80);
	STAY();
}

static NOINLINE void root(int number)
{
	int numbers[] = {3, 1, 2};

	with_alloca(number);
	with_array(number);
	realigned(number);
	with_large_frame(number);
	without_frame_pointer(number);
	round_number = number;
	qsort(numbers, 3, sizeof(numbers[0]), compare);
	frames_without[number] = walks(10);
	raise(SIGUSR1);
	STAY();
}

int main(void)
{
	void *frames[FRAMES];

	backtrace(frames, FRAMES); // loads libgcc, which allocates
	REQUIRE(signal(SIGUSR1, in_handler) != SIG_ERR);
	for (int i = 0; i < ROUNDS; i++)
		root(i);
	for (int i = 0; i < ROUNDS; i++)
		REQUIRE(frames_without[i] == frames_without[0]);
	printf("%d\n", frames_without[0]);
	return 7;
}
