/*
 * A thread makes blocks and then sleeps, another makes some and ends, and the program churns and
 * ends in the way that its argument names. For CULL: all these blocks are held back then, or are
 * old.
 *
 * EXPECT kept: calls=150 total_bytes=15000 leaked_blocks=150 leaked_bytes=15000
 */
#include <mallow/mallow.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "sample.h"

static pthread_barrier_t barrier;

static NOINLINE void kept(int count)
{
	for (int i = 0; i < count; i++)
		keep(malloc(100));
	STAY();
}

static NOINLINE void churn(void)
{
	for (int i = 0; i < 1000; i++)
		free(keep(malloc(64)));
	STAY();
}

static void *sleeper(void *argument)
{
	kept(50);
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return argument;
}

static void *ender(void *argument)
{
	kept(50);
	return argument;
}

/* Somewhere in a malloc, a free, or the agent. */
static void leave(int number)
{
	_exit(7);
}

static void leave_by_timer(void)
{
	struct itimerval soon = {.it_value.tv_usec = 20011};

	signal(SIGALRM, leave);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (;;)
		churn();
}

static void end(const char *how, char **argv)
{
	if (!strcmp(how, "_exit"))
		_exit(7);
	if (!strcmp(how, "quick_exit"))
		quick_exit(7);
	if (!strcmp(how, "handler"))
		leave_by_timer();
	if (!strcmp(how, "exec"))
		execl("/bin/sh", "sh", "-c", "exit 7", NULL);
	if (!strcmp(how, "stopped"))
		mallow_stop();
	if (!strcmp(how, "synced"))
		REQUIRE(mallow_sync() == 0);
	if (!strcmp(how, "synced") || !strcmp(how, "killed"))
		raise(SIGKILL);
	exit(7);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	REQUIRE(argc == 2);
	REQUIRE(!pthread_barrier_init(&barrier, NULL, 2));
	REQUIRE(!pthread_create(&thread, NULL, sleeper, NULL));
	pthread_barrier_wait(&barrier);
	REQUIRE(!pthread_create(&thread, NULL, ender, NULL));
	REQUIRE(!pthread_join(thread, NULL));
	kept(49);
	churn();
	if (!strcmp(argv[1], "failed exec"))
		execl("/nowhere", "nowhere", NULL);
	// So long that all of the above is old where it is to be, and all of it is looked at.
	for (int i = 0; !strcmp(argv[1], "killed") && i < 1000; i++) {
		usleep(1000);
		churn();
	}
	kept(1);
	free(keep(malloc(200)));
	end(argv[1], argv);
}
