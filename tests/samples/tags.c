/* Allocations of 1,001 to 1,007 bytes with different tags: tests/e2e/record/test_toggle.py knows
 * which. */
#include "sample.h"

#include <mallow/mallow.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *argument)
{
	free(keep(malloc(1007))); // a thread begins without one
	return argument;
}

int main(void)
{
	pthread_t thread;
	int status;
	pid_t child;

	free(keep(malloc(1001)));
	mallow_set_tag(7);
	mallow_set_tag(7);
	free(keep(malloc(1002)));
	mallow_set_tag(UINT32_MAX);
	free(keep(malloc(1003)));
	REQUIRE(!pthread_create(&thread, NULL, work, NULL));
	pthread_join(thread, NULL);
	mallow_set_tag(0);
	free(keep(malloc(1004)));
	mallow_stop();
	mallow_set_tag(8);
	mallow_set_tag(9);
	mallow_start();
	free(keep(malloc(1005)));
	child = fork();
	if (!child) {
		free(keep(malloc(1006)));
		_exit(0);
	}
	REQUIRE(child > 0 && waitpid(child, &status, 0) == child && !status);
	puts("ok");
	return 7;
}
