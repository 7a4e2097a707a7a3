/*
 * Four threads load and unload two libraries again and again, so that code comes and goes, often
 * at the addresses of other code, while all of them allocate from it. Arguments: the libraries.
 *
 * EXPECT use_alpha: calls=2000 total_bytes=12000 leaked_blocks=2000
 * EXPECT use_beta: calls=2000 total_bytes=10000 leaked_blocks=2000
 * EXPECT alpha_inner: calls=2000 total_bytes=12000
 * EXPECT beta_inner: calls=2000 total_bytes=10000
 */
#include "sample.h"

#include <dlfcn.h>
#include <pthread.h>

#define THREADS 4
#define ROUNDS  100

typedef void *(*allocate_fn)(void);

static char **paths;

static allocate_fn load(const char *path, void **handle)
{
	allocate_fn allocate;

	*handle = dlopen(path, RTLD_NOW);
	REQUIRE(*handle);
	*(void **)&allocate = dlsym(*handle, "allocate");
	REQUIRE(allocate);
	return allocate;
}

static NOINLINE void use_alpha(allocate_fn allocate)
{
	for (int i = 0; i < 5; i++)
		keep(allocate());
	STAY();
}

static NOINLINE void use_beta(allocate_fn allocate)
{
	for (volatile int i = 0; i < 5; i++)
		keep(allocate());
	STAY();
}

static void *run(void *argument)
{
	for (int round = 0; round < ROUNDS; round++) {
		void *handle;

		use_alpha(load(paths[0], &handle));
		REQUIRE(dlclose(handle) == 0);
		use_beta(load(paths[1], &handle));
		REQUIRE(dlclose(handle) == 0);
	}
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	REQUIRE(argc == 3);
	paths = argv + 1;
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&threads[i], NULL, run, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
	puts("ok");
	return 7;
}
