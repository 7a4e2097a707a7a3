/* The library of deepbind.c: calls of all kinds, bound at once or when they are first called. */
#include "sample.h"

struct functions {
	void *(*allocate)(size_t size);
	void (*release)(void *block);
};

// Relocated as data, and behind them read-only.
static const struct functions functions = {malloc, free};

void needed_work(void);

/* Runs before dlopen() returns. */
static NOINLINE __attribute__((constructor)) void begin(void)
{
	keep(malloc(77));
	free(keep(strdup("begin")));
	STAY();
}

/* The C library allocates here, and the library frees. */
static NOINLINE void plugin_strings(void)
{
	for (int i = 0; i < 1000; i++)
		free(keep(strdup("hello world")));
	STAY();
}

static NOINLINE void plugin_table(void)
{
	for (int i = 0; i < 1000; i++)
		functions.release(keep(functions.allocate(50)));
	STAY();
}

static NOINLINE void plugin_resizes(void)
{
	for (int i = 0; i < 1000; i++)
		free(keep(realloc(keep(calloc(1, 2)), 100)));
	STAY();
}

static NOINLINE void plugin_first(void)
{
	for (int i = 0; i < 100; i++)
		free(keep(malloc(1)));
	STAY();
}

NOINLINE void *plugin_gives(size_t size)
{
	void *block = keep(malloc(size));

	STAY();
	return block;
}

void plugin_takes(void *block)
{
	free(block);
}

void plugin_work(void)
{
	plugin_first();
	plugin_strings();
	plugin_table();
	plugin_resizes();
	needed_work();
}
