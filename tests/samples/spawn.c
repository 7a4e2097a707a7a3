/*
 * The other ways to start programs: vfork and exec, posix_spawn, system, popen, an exec that
 * fails. The argument is the program to start; it prints a line.
 *
 * EXPECT before: calls=10 total_bytes=100
 * EXPECT after: calls=10 total_bytes=200
 * EXPECT in_vfork_child: calls=1 total_bytes=64 leaked_blocks=1
 */
#include "sample.h"

#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static NOINLINE void before(void)
{
	for (int i = 0; i < 10; i++)
		keep(malloc(10));
	STAY();
}

static NOINLINE void after(void)
{
	for (int i = 0; i < 10; i++)
		keep(malloc(20));
	STAY();
}

static int status_of(pid_t pid)
{
	int status = -1;

	REQUIRE(pid > 0);
	REQUIRE(waitpid(pid, &status, 0) == pid);
	return WEXITSTATUS(status);
}

/* The heap is the parent's until the exec. */
static NOINLINE void in_vfork_child(void)
{
	keep(malloc(64));
	STAY();
}

static pid_t start_by_vfork(char **argv)
{
	pid_t pid = vfork();

	if (pid == 0) {
		in_vfork_child();
		execv(argv[0], argv);
		_exit(99);
	}
	return pid;
}

int main(int argc, char **argv)
{
	char *command[] = {argc > 1 ? argv[1] : NULL, "0", NULL};
	char *missing[] = {"/nonexistent/program", NULL};
	char line[100];
	pid_t pid;
	FILE *pipe;

	REQUIRE(argc == 2);
	before();
	REQUIRE(status_of(start_by_vfork(command)) == 7);
	REQUIRE(posix_spawn(&pid, command[0], NULL, NULL, command, environ) == 0);
	REQUIRE(status_of(pid) == 7);
	REQUIRE(WEXITSTATUS(system("exit 5")) == 5);
	pipe = popen("echo hello", "r");
	REQUIRE(pipe && fgets(line, sizeof(line), pipe) && !strcmp(line, "hello\n"));
	REQUIRE(pclose(pipe) == 0);
	errno = 0;
	REQUIRE(execv(missing[0], missing) < 0 && errno == ENOENT);
	after();
	puts("ok");
	return 7;
}
