/*
 * heapprof's first test: allocates and frees by turns, so that known blocks of known sizes stay,
 * and ends in a way that leaves a core: by the argument, "null" (a write to NULL), "abort", "limit"
 * (an allocation beyond RLIMIT_AS, then abort), or "wait" (it waits to be dumped by others).
 *
 * EXPECT keep_odd: leaked_blocks=8 leaked_bytes=1048576
 * EXPECT keep_large: leaked_blocks=1 leaked_bytes=1048576
 * EXPECT keep_aligned: leaked_blocks=2 leaked_bytes=1096
 */
#include "sample.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The sizes are 131071 and 131073 by turns: below and above where glibc maps blocks by themselves.
 */
static NOINLINE void keep_odd(void)
{
	for (int i = 0; i < 8; i++) {
		void *gone = malloc(100 + (size_t)i);

		memset(keep(malloc(131072 + (i % 2 ? 1 : -1))), i, 131071);
		free(gone);
	}
	STAY();
}

static NOINLINE void keep_large(void)
{
	memset(keep(malloc(1048576)), 1, 1048576);
	STAY();
}

/* heapprof crashed where a block of posix_memalign() was freed, and its blocks were 8-aligned. */
static NOINLINE void keep_aligned(void)
{
	void *gone = NULL, *block = NULL;

	if (posix_memalign(&gone, 4096, 10) || posix_memalign(&block, 64, 96) ||
	    (uintptr_t)block % 64)
		_exit(3);
	free(gone);
	keep(block);
	block = keep(malloc(1000));
	if ((uintptr_t)block % 16)
		_exit(4);
	STAY();
}

static NOINLINE void fall_over_limit(void)
{
	const struct rlimit limit = {256u << 20, 256u << 20};

	setrlimit(RLIMIT_AS, &limit);
	if (!malloc((size_t)1 << 30))
		abort();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "null";

	keep_odd();
	keep_large();
	keep_aligned();
	puts("ready");
	fflush(stdout);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "limit") == 0)
		fall_over_limit();
	while (strcmp(how, "wait") == 0)
		pause();
	*(volatile int *)NULL = 0;
	return 0;
}
