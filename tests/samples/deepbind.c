/*
 * Loads a library with RTLD_DEEPBIND, whose calls of malloc the loader binds past everything that
 * is preloaded; and calls malloc itself as dlsym() finds it in the C library. Arguments: the
 * library, and "now" or "lazy".
 *
 * EXPECT begin: calls=2 leaked_blocks=1 leaked_bytes=77
 * EXPECT plugin_strings: calls=1000 total_bytes=12000 leaked_blocks=0
 * EXPECT plugin_table: calls=1000 total_bytes=50000 leaked_blocks=0
 * EXPECT plugin_resizes: calls=2000 total_bytes=102000 leaked_blocks=0
 * EXPECT plugin_first: calls=100 total_bytes=100 leaked_blocks=0
 * EXPECT needed_strings: calls=1000 total_bytes=11000 leaked_blocks=0
 * EXPECT plugin_gives: calls=10 total_bytes=100 leaked_blocks=0
 * EXPECT host_gives: calls=10 total_bytes=200 leaked_blocks=0
 * EXPECT by_handle: calls=10 total_bytes=300 leaked_blocks=0
 * EXPECT by_next: calls=10 total_bytes=400 leaked_blocks=0
 */
#include "sample.h"

#include <dlfcn.h>

typedef void *allocate_fn(size_t size);
typedef void free_fn(void *block);

// musl has no such thing.
#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0
#endif

static void *find(void *library, const char *name)
{
	void *found = dlsym(library, name);

	REQUIRE(found);
	return found;
}

/* What the library allocates the program frees. */
static NOINLINE void plugin_to_host(allocate_fn *plugin_gives)
{
	for (int i = 0; i < 10; i++)
		free(plugin_gives(10));
}

static NOINLINE void host_gives(free_fn *plugin_takes)
{
	for (int i = 0; i < 10; i++)
		plugin_takes(keep(malloc(20)));
	STAY();
}

static NOINLINE void by_handle(allocate_fn *libc_malloc, free_fn *libc_free)
{
	for (int i = 0; i < 10; i++) {
		void *block = libc_malloc(30);

		if (i % 2)
			free(block);
		else
			libc_free(block);
	}
	STAY();
}

static NOINLINE void by_next(allocate_fn *next_malloc)
{
	for (int i = 0; i < 10; i++)
		free(next_malloc(40));
	STAY();
}

int main(int argc, char **argv)
{
	void *plugin, *libc;
	void (*work)(void);

	REQUIRE(argc == 3);
	plugin = dlopen(argv[1], RTLD_DEEPBIND | (argv[2][0] == 'n' ? RTLD_NOW : RTLD_LAZY));
	if (!plugin)
		fprintf(stderr, "%s\n", dlerror());
	REQUIRE(plugin);
	*(void **)&work = find(plugin, "plugin_work");
	work();
	plugin_to_host((allocate_fn *)find(plugin, "plugin_gives"));
	host_gives((free_fn *)find(plugin, "plugin_takes"));
	libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	if (!libc)
		libc = dlopen("libc.so", RTLD_NOW); // musl's
	REQUIRE(libc);
	by_handle((allocate_fn *)find(libc, "malloc"), (free_fn *)find(libc, "free"));
	by_next((allocate_fn *)find(RTLD_NEXT, "malloc"));
	REQUIRE(dlclose(plugin) == 0);
	puts("ok");
	return 7;
}
