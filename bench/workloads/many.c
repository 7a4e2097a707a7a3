/*
 * What programs do thousands of times, each with some allocations:
 *
 *     many threads N       that all live at once
 *     many forks N         one after the other
 *     many loads N A B     dlopen() and dlclose() of two libraries in turn
 *     many frames N        a recursion that allocates at each eighth frame
 *
 * With -DLIBRARY it is one of the libraries.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void allocate(int count)
{
	for (int i = 0; i < count; i++) {
		void *volatile block = malloc(4242);

		free(block);
	}
}

#ifdef LIBRARY
void work(void)
{
	allocate(1);
}
#else
static pthread_barrier_t barrier;
static int count;

static void *run(void *argument)
{
	allocate(20);
	pthread_barrier_wait(&barrier);
	return argument;
}

static int start_threads(void)
{
	pthread_t *threads = malloc((size_t)count * sizeof(*threads));
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 32768);
	pthread_barrier_init(&barrier, NULL, (unsigned)count + 1);
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], &attributes, run, NULL))
			return 1; // the limit of threads
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int start_children(void)
{
	for (int i = 0; i < count; i++) {
		pid_t child = fork();

		if (child == 0) {
			allocate(2);
			_exit(0);
		}
		if (child < 0 || waitpid(child, NULL, 0) != child)
			return 1;
		allocate(1);
	}
	return 0;
}

static int load(char **libraries)
{
	for (int i = 0; i < count; i++) {
		void *handle = dlopen(libraries[i % 2], RTLD_NOW | RTLD_LOCAL);
		void (*work)(void) = handle ? (void (*)(void))dlsym(handle, "work") : NULL;

		if (!work)
			return 1;
		work();
		dlclose(handle);
	}
	return 0;
}

static __attribute__((noinline)) int descend(int depth)
{
	volatile int here = depth;

	if (depth % 8 == 0)
		allocate(1);
	return depth ? descend(depth - 1) + here - depth + 1 : 0;
}

static void *run_deep(void *argument)
{
	return descend(count) == count ? argument : NULL;
}

static int go_deep(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	void *result = NULL;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 20);
	if (pthread_create(&thread, &attributes, run_deep, &count))
		return 1;
	pthread_join(thread, &result);
	return !result;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	count = atoi(argv[2]);
	if (!strcmp(argv[1], "threads"))
		return start_threads();
	if (!strcmp(argv[1], "forks"))
		return start_children();
	if (!strcmp(argv[1], "loads") && argc == 5)
		return load(argv + 3);
	return strcmp(argv[1], "frames") ? 2 : go_deep();
}
#endif
