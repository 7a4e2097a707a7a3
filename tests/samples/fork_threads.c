/*
 * Forks while four threads allocate. Each child is an image of its own with its own recording;
 * what it inherited it may free.
 *
 * EXPECT in_parent: calls=50 total_bytes=5000
 * EXPECT inherited: calls=1 total_bytes=777 leaked_blocks=1
 *
 * Of every child's recording:
 * EXPECT-CHILD in_child: calls=10 total_bytes=330 leaked_blocks=10
 * EXPECT-CHILD inherited: calls=0
 */
#include "sample.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 5

static atomic_int stop;

static void *busy(void *argument)
{
	while (!atomic_load(&stop)) {
		free(keep(malloc(48)));
		usleep(10);
	}
	return argument;
}

static NOINLINE void in_parent(void)
{
	keep(malloc(100));
	STAY();
}

static NOINLINE void in_child(void)
{
	keep(malloc(33));
	STAY();
}

static NOINLINE void *inherited(void)
{
	void *block = keep(malloc(777));

	STAY();
	return block;
}

int main(void)
{
	pthread_t threads[4];
	void *block = inherited();

	for (int i = 0; i < 4; i++)
		REQUIRE(pthread_create(&threads[i], NULL, busy, NULL) == 0);
	for (int i = 0; i < CHILDREN; i++) {
		int status;
		pid_t pid = fork();

		REQUIRE(pid >= 0);
		if (pid == 0) {
			for (int n = 0; n < 10; n++)
				in_child();
			free(block);
			if (i % 2)
				_exit(i);
			exit(i);
		}
		for (int n = 0; n < 10; n++)
			in_parent();
		REQUIRE(waitpid(pid, &status, 0) == pid);
		REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == i);
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	REQUIRE(wait(NULL) < 0); /* nobody else is our child */
	puts("ok");
	fflush(stdout);
	return 7;
}
