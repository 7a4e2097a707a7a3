/*
 * A signal handler forks in the middle of an allocation (raising_allocator.c).
 *
 * EXPECT aligned: calls=100 total_bytes=4000 leaked_blocks=100
 */
#include "sample.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void handler(int number)
{
	int status;
	int pid = fork();

	(void)number;
	if (pid == 0)
		_exit(0);
	waitpid(pid, &status, 0);
}

static NOINLINE void aligned(void)
{
	for (int i = 0; i < 100; i++) {
		void *block = NULL;

		REQUIRE(posix_memalign(&block, 16, 40) == 0);
		keep(block);
	}
	STAY();
}

int main(void)
{
	signal(SIGUSR1, handler);
	aligned();
	printf("ok\n");
	return 0;
}
