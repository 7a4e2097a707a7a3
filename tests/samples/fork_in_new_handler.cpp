/*
 * A new_handler forks: parent and child return into operator new, which tries again.
 *
 * EXPECT grown: calls=1 total_bytes=67108864 entry=operator_new:1 leaked_blocks=1
 * EXPECT behind: calls=100 total_bytes=3000 leaked_blocks=0
 */
#include "sample.h"

#include <new>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static rlimit unlimited;
static bool child;

static void fork_once()
{
	int status = -1;
	int pid;

	std::set_new_handler(nullptr);
	REQUIRE(setrlimit(RLIMIT_AS, &unlimited) == 0);
	pid = fork();
	if (pid == 0) {
		child = true;
		return;
	}
	REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
}

static NOINLINE void grown()
{
	keep(::operator new(64 << 20));
	STAY();
}

static NOINLINE void behind()
{
	for (int i = 0; i < 100; i++)
		free(keep(malloc(30)));
	STAY();
}

int main()
{
	REQUIRE(getrlimit(RLIMIT_AS, &unlimited) == 0);

	rlimit little = unlimited;

	little.rlim_cur = 48 << 20;
	REQUIRE(setrlimit(RLIMIT_AS, &little) == 0);
	std::set_new_handler(fork_once);
	grown();
	behind();
	if (child)
		_exit(0);
	puts("ok");
	return 7;
}
