/*
 * What is live by many stacks, then a crash: core_sites BLOCKS SITES. Each stack is the path of its
 * number through two functions that call each other by its bits, fifteen calls deep. Blocks have 16
 * to 775 bytes.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH 15

static char *volatile last;

__attribute__((noinline)) static void zero(unsigned int bits, int depth, size_t size);
__attribute__((noinline)) static void one(unsigned int bits, int depth, size_t size);

static inline void step(unsigned int bits, int depth, size_t size)
{
	if (depth) {
		(bits & 1 ? one : zero)(bits >> 1, depth - 1, size);
		return;
	}
	last = malloc(size);
	*last = 1;
}

/* Something behind each call, so that none of them is a jump. */
static void zero(unsigned int bits, int depth, size_t size)
{
	step(bits, depth, size);
	__asm__ volatile("");
}

static void one(unsigned int bits, int depth, size_t size)
{
	step(bits, depth, size);
	__asm__ volatile("nop");
}

int main(int argc, char **argv)
{
	unsigned int blocks = argc > 2 ? (unsigned int)atoi(argv[1]) : 0;
	unsigned int sites = argc > 2 ? (unsigned int)atoi(argv[2]) : 1;

	for (unsigned int i = 0; i < blocks; i++)
		zero(i % sites, DEPTH, 16 + (size_t)(i * 7919u) % 760);
	raise(SIGSEGV);
	return 0;
}
