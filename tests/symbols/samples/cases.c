/*
 * C for the symbolizer. Each "AT name" marks the line that a frame of that name must show; the
 * chain inner, middle, outer is one address in outer() whatever the level of optimisation.
 */
#include <stdlib.h>

volatile int sink;

static inline __attribute__((always_inline)) void inner(int x)
{
	sink = x * 7; /* AT inner */
}

static inline __attribute__((always_inline)) void middle(int x)
{
	sink++;
	inner(x + 1); /* AT middle */
	sink--;
}

__attribute__((noinline)) void outer(int x)
{
	sink += x;
	middle(x + 2); /* AT outer */
	sink -= x;
}

static __attribute__((noinline)) int local_function(int x)
{
	return x + sink;
}

/* The compiler moves the unlikely part to outer_cold.cold. */
__attribute__((noinline)) int outer_cold(int x)
{
	if (x == 12345)
		abort();
	return local_function(x) + 1;
}

/* Aliases: the name without underscores is the one to show. */
__attribute__((noinline)) int __aliased(int x)
{
	return x ^ sink;
}
int aliased(int x) __attribute__((alias("__aliased")));
int weakly_aliased(int x) __attribute__((weak, alias("__aliased")));

int main(int argc, char **argv)
{
	outer(argc);
	return outer_cold(argc) + aliased(argc) + weakly_aliased(argc);
}
