/*
 * Does what the lines of its standard input say, one after the other, and answers each with the
 *time in nanoseconds (CLOCK_MONOTONIC). It allocates only at its start, so the agent sees nothing
 *of all this.
 *
 *	touch   maps 64 MB and writes to all of it
 *	drop    unmaps that
 *	raw N   leaves by a system call, with status N
 *
 * EXPECT main: calls=1 total_bytes=1000 leaked_blocks=1
 */
#include "sample.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SIZE (64u << 20)

static void answer(void)
{
	struct timespec now;
	char line[64];

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (write(1, line,
		  (size_t)snprintf(line, sizeof(line), "%lld\n",
				   now.tv_sec * 1000000000ll + now.tv_nsec)) < 0)
		_exit(1);
}

int main(void)
{
	static char line[64];
	char *memory = NULL;
	ssize_t got;

	keep(malloc(1000));
	do {
		if (!strncmp(line, "touch", 5)) {
			memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			memset(memory, 1, SIZE);
		} else if (!strncmp(line, "drop", 4)) {
			munmap(memory, SIZE);
		} else if (!strncmp(line, "raw", 3)) {
			syscall(SYS_exit_group, atoi(line + 4));
		}
		answer();
		got = read(0, line, sizeof(line) - 1);
		if (got > 0)
			line[got] = '\0';
	} while (got > 0);
	return 0;
}
