/*
 * Programs in which no other process can be started, or none that can open its files: no report of
 * what is live is made from there. The first word is how. With "signals" reports are asked for,
 * with "spin" it allocates until its input ends.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sample.h"

#define NO_KERNEL 77 /* this one cannot do that */

static void limit(int kind, rlim_t most)
{
	const struct rlimit limit = {most, most};

	REQUIRE(setrlimit(kind, &limit) == 0);
}

/* The first process of the new namespace is its init, without which there are no others. */
static void lose_init(void)
{
	pid_t pid;

	REQUIRE(unshare(CLONE_NEWPID) == 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid)
		_exit(0);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
}

/* Landlock: no file may be executed or read any more. Headers of Debian 12 know the numbers. */
static void lock_files(void)
{
	const struct {
		uint64_t handled;
	} rules = {.handled = 1 << 0 | 1 << 2}; // execute, read
	long fd = syscall(444, &rules, sizeof(rules), 0);

	if (fd < 0)
		exit(NO_KERNEL);
	REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	REQUIRE(syscall(446, fd, 0) == 0);
	close((int)fd);
}

static void corner(const char *how)
{
	if (strcmp(how, "stack") == 0)
		limit(RLIMIT_STACK, 16384);
	else if (strcmp(how, "descriptors") == 0)
		limit(RLIMIT_NOFILE, 3);
	else if (strcmp(how, "namespace") == 0)
		lose_init();
	else if (strcmp(how, "landlock") == 0)
		lock_files();
	else if (strcmp(how, "chroot") == 0)
		REQUIRE(chroot("/proc/self/fdinfo") == 0);
	else if (strcmp(how, "processes") == 0) {
		limit(RLIMIT_NPROC, 1);
		REQUIRE(setresuid(65533, 65533, 65533) == 0);
	} else {
		REQUIRE(strcmp(how, "nothing") == 0);
	}
}

static NOINLINE void kept(void)
{
	for (int i = 0; i < 10; i++)
		keep(malloc(5000));
	STAY();
}

static void spin(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};

	while (poll(&input, 1, 1) == 0)
		free(keep(malloc(100)));
}

int main(int argc, char **argv)
{
	const char *then = argc > 2 ? argv[2] : "";

	corner(argv[1]);
	kept();
	if (strcmp(then, "signals") == 0) {
		raise(SIGUSR1);
		raise(SIGUSR2);
	}
	if (strcmp(then, "spin") == 0)
		spin();
	return 7;
}
