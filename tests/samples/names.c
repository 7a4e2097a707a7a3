/* Threads that are given names in all ways; each allocates under its name and after a change. */
#include "sample.h"

#include <pthread.h>
#include <sys/prctl.h>

static void *named_by_prctl(void *argument)
{
	prctl(PR_SET_NAME, "by-prctl");
	keep(malloc(1));
	return argument;
}

static void *named_by_pthread(void *argument)
{
	keep(malloc(2));
	pthread_setname_np(pthread_self(), "by-pthread");
	keep(malloc(3));
	return argument;
}

static void *named_twice(void *argument)
{
	pthread_setname_np(pthread_self(), "first-name");
	keep(malloc(4));
	pthread_setname_np(pthread_self(), "second-name");
	keep(malloc(5));
	return argument;
}

int main(void)
{
	void *(*functions[])(void *) = {named_by_prctl, named_by_pthread, named_twice};

	prctl(PR_SET_NAME, "the-main-one");
	keep(malloc(6));
	for (size_t i = 0; i < 3; i++) {
		pthread_t thread;

		REQUIRE(pthread_create(&thread, NULL, functions[i], NULL) == 0);
		pthread_join(thread, NULL);
	}
	puts("ok");
	return 7;
}
