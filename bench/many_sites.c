/*
 * A program with a great many backtraces, of each of which something is live: for measuring how
 * long a report of them takes.
 *
 *	many_sites LEVELS       2 to the power of LEVELS backtraces, LEVELS + 3 frames deep
 */
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

static NOINLINE void descend(unsigned int level, unsigned int path);

static NOINLINE void left(unsigned int level, unsigned int path)
{
	descend(level, path);
	__asm__ volatile("" ::: "memory");
}

static NOINLINE void right(unsigned int level, unsigned int path)
{
	descend(level, path);
	__asm__ volatile("" ::: "memory");
}

static void descend(unsigned int level, unsigned int path)
{
	if (!level) {
		void *block = malloc(path % 500 + 1);

		__asm__ volatile("" : "+r"(block) : : "memory");
		return;
	}
	left(level - 1, 2 * path);
	right(level - 1, 2 * path + 1);
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	descend(argc > 1 ? (unsigned int)atoi(argv[1]) : 10, 0);
	return 0;
}
