/*
 * Opens and closes libraries at random, in all ways, while blocks that one of them made are freed
 * by another, by the program, or by the C library's function as its handle has it. Arguments: a
 * number to begin with, and the libraries. Prints how many blocks, and bytes, were made by make(),
 * all of which are freed in the end.
 */
#include "sample.h"

#include <dlfcn.h>

#define LIBRARIES_MAX 16
#define BLOCKS        64
#define TEXT          sizeof("library") /* made and dropped by a library whenever it is called */
#define STEPS         3000

struct library {
	const char *path;
	void *handle;
	void *(*gives)(size_t size);
	void (*takes)(void *block);
};

static struct library libraries[LIBRARIES_MAX];
static int library_count;
static void *blocks[BLOCKS];
static unsigned long made, made_bytes;
static void (*libc_free)(void *block);

static unsigned long state;

static unsigned int next(unsigned int limit)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(state >> 33) % limit;
}

static void open_one(struct library *library)
{
	static const int ways[] = {RTLD_NOW,
				   RTLD_LAZY,
				   RTLD_NOW | RTLD_GLOBAL,
				   RTLD_NOW | RTLD_DEEPBIND,
				   RTLD_LAZY | RTLD_DEEPBIND,
				   RTLD_NOW | RTLD_DEEPBIND | RTLD_GLOBAL};

	library->handle = dlopen(library->path, ways[next(sizeof(ways) / sizeof(ways[0]))]);
	if (!library->handle)
		fprintf(stderr, "%s\n", dlerror());
	REQUIRE(library->handle);
	*(void **)&library->gives = dlsym(library->handle, "library_gives");
	*(void **)&library->takes = dlsym(library->handle, "library_takes");
	REQUIRE(library->gives && library->takes);
}

static void open_or_close(struct library *library)
{
	if (!library->handle)
		return open_one(library);
	REQUIRE(dlclose(library->handle) == 0);
	library->handle = NULL;
}

/* One that is open, or NULL. */
static struct library *any(void)
{
	struct library *library = &libraries[next((unsigned int)library_count)];

	return library->handle ? library : NULL;
}

static NOINLINE void *make(void)
{
	struct library *library = any();
	size_t size = 1 + next(2000);
	void *block = library ? library->gives(size) : keep(malloc(size));

	made += library ? 2 : 1;
	made_bytes += library ? size + TEXT : size;
	STAY();
	return block;
}

static void drop(void *block)
{
	struct library *library = any();

	if (library)
		library->takes(block);
	else if (next(2))
		libc_free(block);
	else
		free(block);
}

int main(int argc, char **argv)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

	REQUIRE(argc > 2 && argc - 2 <= LIBRARIES_MAX && libc);
	*(void **)&libc_free = dlsym(libc, "free");
	state = strtoul(argv[1], NULL, 10);
	library_count = argc - 2;
	for (int i = 0; i < library_count; i++)
		libraries[i].path = argv[2 + i];
	for (int i = 0; i < STEPS; i++) {
		void **block = &blocks[next(BLOCKS)];

		if (!next(10))
			open_or_close(&libraries[next((unsigned int)library_count)]);
		if (*block)
			drop(*block);
		*block = *block ? NULL : make();
	}
	for (int i = 0; i < BLOCKS; i++)
		if (blocks[i])
			drop(blocks[i]);
	printf("%lu %lu\n", made, made_bytes);
	return 7;
}
