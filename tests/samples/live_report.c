/*
 * What `mallow live` prints of it, tests/e2e/live/test_live_command.py says: what is live, what
 * was, and how it ends, which is asked for by words.
 *
 *   forked   a child allocates, too, and ends
 *   executed a child executes this program
 *   waiting  waits until a line comes, and prints one for each SIGUSR1 that it has a handler for
 *   killed   ends by SIGKILL
 *   crashed  ends by a wrong access
 *   freed    frees all that it has
 */
#include "sample.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 60

static void *blocks[BLOCKS], *once;

static NOINLINE void *make(size_t size)
{
	void *block = keep(malloc(size)); // line of make

	STAY();
	return block;
}

static NOINLINE void list(void)
{
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = make(528); // line of list
	STAY();
}

static NOINLINE void churn(void)
{
	for (int i = 0; i < 1000; i++)
		free(keep(malloc(100)));
	STAY();
}

static NOINLINE void child(const char *word)
{
	pid_t pid = fork();
	char *const arguments[] = {"live_report", NULL};
	int status;

	REQUIRE(pid >= 0);
	if (!pid) {
		make(2048);
		if (strcmp(word, "executed") == 0)
			execv("/proc/self/exe", arguments);
		exit(5);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == (strcmp(word, "forked") ? 7 : 5));
	// There was no other child, as far as this program can see.
	REQUIRE(waitpid(-1, &status, 0) < 0);
}

static void on_signal(int number)
{
	static const char line[] = "own handler\n";

	(void)number;
	if (write(1, line, sizeof(line) - 1) < 0)
		_exit(4);
}

/* Allocates now and then: what the agent does, it does then. */
static NOINLINE void wait_for_line(void)
{
	static const char line[] = "waiting\n";
	char answer[16];

	signal(SIGUSR1, on_signal);
	REQUIRE(write(1, line, sizeof(line) - 1) > 0);
	while (read(0, answer, sizeof(answer)) < 0)
		churn();
}

static NOINLINE void free_all(void)
{
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	free(once);
}

int main(int argc, char **argv)
{
	list();
	once = make(1005); // line of main
	churn();
	for (int i = 0; i < 17; i++) {
		free(blocks[i]);
		blocks[i] = NULL;
	}
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "forked") == 0 || strcmp(argv[i], "executed") == 0)
			child(argv[i]);
		else if (strcmp(argv[i], "waiting") == 0)
			wait_for_line();
		else if (strcmp(argv[i], "killed") == 0)
			raise(SIGKILL);
		else if (strcmp(argv[i], "crashed") == 0)
			*(volatile int *)8 = 1;
		else if (strcmp(argv[i], "freed") == 0)
			free_all();
	}
	return 7;
}
