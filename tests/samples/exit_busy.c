/* Leaves main while four threads allocate and free as fast as they can. */
#include "sample.h"

#include <pthread.h>
#include <unistd.h>

static void *busy(void *argument)
{
	for (;;)
		free(keep(malloc(100)));
	return argument;
}

static void linger(void)
{
	usleep(5000);
}

/* Registered before the agent's own handler can be: runs after the recording was ended. */
int main(void)
{
	pthread_t thread;

	atexit(linger);
	for (int i = 0; i < 4; i++)
		REQUIRE(pthread_create(&thread, NULL, busy, NULL) == 0);
	usleep(5000);
	return 0;
}
