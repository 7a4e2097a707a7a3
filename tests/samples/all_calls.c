/*
 * A little of everything for which the agent asks the kernel: threads that come and go and have
 * names, mappings, a fork, a fork with exec, a spawn, a sum of what was allocated. What it prints
 * is always the same.
 *
 * EXPECT work: calls=7000
 */
#include "sample.h"

#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static NOINLINE void *deeper(int depth)
{
	void *block = depth ? deeper(depth - 1) : keep(malloc(100));

	STAY();
	return block;
}

static NOINLINE void work(void)
{
	for (int i = 0; i < 1000; i++) {
		char *block = deeper(i % 40);

		REQUIRE(block);
		memset(block, i, 100);
		free(block);
	}
	STAY();
}

static void *thread(void *argument)
{
	pthread_setname_np(pthread_self(), argument);
	work();
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[3];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++)
			REQUIRE(pthread_create(&threads[i], NULL, thread, "worker") == 0);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
	}
}

static void wait_for(int pid, int wanted)
{
	int status = -1;

	REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
	REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == wanted);
}

static void run_children(char *self)
{
	char *argv[] = {self, "child", NULL};
	int pid = fork();

	if (!pid) {
		work();
		exit(5);
	}
	wait_for(pid, 5);
	pid = fork();
	if (!pid) {
		execv(self, argv);
		_exit(9);
	}
	wait_for(pid, 6);
	REQUIRE(posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0);
	wait_for(pid, 6);
}

int main(int argc, char **argv)
{
	void *map;

	if (argc == 2) {
		work();
		return 6;
	}
	work();
	map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(map != MAP_FAILED && munmap(map, 65536) == 0);
	run_threads();
	run_children(argv[0]);
	puts("ok");
	return 7;
}
