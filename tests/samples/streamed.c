/*
 * Works in rounds: streamed THREADS. A line N on standard input is a round: each thread, which the
 * round makes (1: the first one itself), allocates and frees N blocks, by functions that no earlier
 * round has called. Then "done" is printed. streamed THREADS tags: the blocks have 1000 bytes and
 * as many as their tag says, which is another one each time. "fork" makes a child that does a round
 * of 1000, "exec" executes the program anew, in which it ends with standard input.
 */
#include <mallow/mallow.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STAY() __asm__ volatile("" ::: "memory")
#define ROUND  8 /* functions of a round */

#define LEAF(n)                                                                                    \
	static __attribute__((noinline)) void *leaf##n(size_t size)                                \
	{                                                                                          \
		void *block = malloc(size + n);                                                    \
		STAY();                                                                            \
		return block;                                                                      \
	}
#define EIGHT(what, n)                                                                             \
	what(n##0) what(n##1) what(n##2) what(n##3) what(n##4) what(n##5) what(n##6) what(n##7)
#define ALL(what)                                                                                  \
	EIGHT(what, 1)                                                                             \
	EIGHT(what, 2)                                                                             \
	EIGHT(what, 3) EIGHT(what, 4) EIGHT(what, 5) EIGHT(what, 6) EIGHT(what, 7) EIGHT(what, 8)
#define NAME(n) leaf##n,

ALL(LEAF)
static void *(*const leaves[])(size_t) = {ALL(NAME)};
#define LEAVES (sizeof(leaves) / sizeof(leaves[0]))

static size_t count, first;
static int tagged;

static void *work(void *argument)
{
	for (size_t i = 0; i < count; i++) {
		if (tagged) {
			mallow_set_tag(i % 7 + 1);
			free(malloc(1000 + i % 7 + 1));
		} else {
			free(leaves[(first + i % ROUND) % LEAVES](16 + i % 500));
		}
	}
	return argument;
}

static void work_in_threads(int number)
{
	pthread_t threads[64];

	if (number == 1) {
		work(NULL);
		return;
	}
	for (int i = 0; i < number; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < number; i++)
		pthread_join(threads[i], NULL);
}

static void fork_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		count = 1000;
		work(NULL);
		exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	char line[64];

	tagged = argc > 2;
	setvbuf(stdin, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "fork\n"))
			fork_child();
		else if (!strcmp(line, "exec\n"))
			execv("/proc/self/exe", argv);
		else
			count = (size_t)atol(line);
		if (line[0] >= '0' && line[0] <= '9')
			work_in_threads(atoi(argv[1]));
		first += ROUND;
		printf("done\n");
		fflush(stdout);
	}
	// A child that the program does not know of would be seen here.
	return wait(NULL) == -1 ? 0 : 9;
}
