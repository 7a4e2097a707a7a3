/*
 * Two libraries loaded in turn at one address: argument 1, argument 2, and the first again. Each
 * stack must name the library that was there at the time. With a third argument all that was
 * before is said to be forgotten, by SIGUSR1, while the first is loaded.
 *
 * EXPECT first: calls=10 total_bytes=60
 * EXPECT second: calls=11 total_bytes=55
 * EXPECT alpha_inner: calls=22 total_bytes=132
 * EXPECT beta_inner: calls=11 total_bytes=55
 */
#include "sample.h"

#include <dlfcn.h>
#include <signal.h>

typedef void *(*allocate_fn)(void);

static void *handle;

static allocate_fn load(const char *path)
{
	allocate_fn allocate;

	handle = dlopen(path, RTLD_NOW);
	REQUIRE(handle);
	*(void **)&allocate = dlsym(handle, "allocate");
	REQUIRE(allocate);
	return allocate;
}

static NOINLINE void first(allocate_fn allocate)
{
	for (int i = 0; i < 10; i++)
		keep(allocate());
	STAY();
}

static NOINLINE void second(allocate_fn allocate)
{
	for (int i = 0; i < 11; i++) /* another number, or compilers make one function of both */
		keep(allocate());
	STAY();
}

static NOINLINE void third(allocate_fn allocate)
{
	for (int i = 0; i < 12; i++)
		keep(allocate());
	STAY();
}

int main(int argc, char **argv)
{
	allocate_fn one, two, three;

	REQUIRE(argc >= 3);
	one = load(argv[1]);
	first(one);
	REQUIRE(argc == 3 || raise(SIGUSR1) == 0);
	REQUIRE(dlclose(handle) == 0);
	two = load(argv[2]);
	second(two);
	REQUIRE(dlclose(handle) == 0);
	three = load(argv[1]);
	third(three);
	REQUIRE(dlclose(handle) == 0);
	puts(one == two && two == three ? "same address" : "other address");
	return 7;
}
