/*
 * Forks and executes while its recording is off: three recordings, with a block of 1,001 bytes of
 * the parent's, 1,003 of the child's, which starts its own, and 1,004 of the image that another
 * child executes.
 */
#include "sample.h"

#include <mallow/mallow.h>
#include <sys/wait.h>
#include <unistd.h>

static void wait_for(pid_t child)
{
	int status;

	REQUIRE(child > 0 && waitpid(child, &status, 0) == child && !status);
}

static void as_child(void *inherited)
{
	free(keep(malloc(1002))); // off, as its parent is
	mallow_start();
	free(inherited);
	free(keep(malloc(1003)));
	_exit(0);
}

int main(int argc, char **argv)
{
	void *block;
	pid_t child;

	if (argc > 1) {
		free(keep(malloc(1004)));
		return 0;
	}
	block = keep(malloc(1001));
	mallow_stop();
	child = fork();
	if (!child)
		as_child(block);
	wait_for(child);
	child = fork();
	if (!child) {
		execl(argv[0], argv[0], "image", (char *)NULL);
		_exit(1);
	}
	wait_for(child);
	child = fork();
	if (!child)
		_exit(0); // without a recording
	wait_for(child);
	free(block);
	puts("ok");
	return 7;
}
