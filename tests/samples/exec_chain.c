/*
 * Runs itself again, N times: its argument. Every second time the environment is emptied. Each
 * image makes N blocks and so has a recording of its own, linked to the one before.
 */
#include "sample.h"

#include <unistd.h>

extern char **environ;

static NOINLINE void image(int blocks)
{
	for (int i = 0; i < blocks; i++)
		keep(malloc(100));
	STAY();
}

int main(int argc, char **argv)
{
	static char *nothing[] = {NULL};
	char number[16];
	int left;

	REQUIRE(argc == 2);
	left = atoi(argv[1]);
	image(left);
	if (left == 0) {
		puts(getenv("LD_PRELOAD") ? "ok" : "ok, but without the library");
		return 7;
	}
	snprintf(number, sizeof(number), "%d", left - 1);
	if (left % 2)
		execve("/proc/self/exe", (char *[]){argv[0], number, NULL}, nothing);
	else
		execv("/proc/self/exe", (char *[]){argv[0], number, NULL});
	REQUIRE(!"execve returned");
}
