/*
 * A program that gets mallow late: by a library that it opens, which is linked with it, or by
 * opening libmallow.so itself. Arguments: the library, and words:
 *
 *	global, deepbind, namespace     how it is opened
 *	start                           mallow_start() is called, by the library if it does so
 *	close                           it is closed, twice; and opened again
 */
#include "sample.h"

#include <dlfcn.h>
#include <mallow/mallow.h>
#include <pthread.h>

static int count;
static char **words;

static int has(const char *word)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(words[i], word))
			return 1;
	return 0;
}

static void *open_one(const char *path)
{
	int flags = RTLD_NOW | (has("global") ? RTLD_GLOBAL : RTLD_LOCAL) |
		    (has("deepbind") ? RTLD_DEEPBIND : 0);
	void *library =
		has("namespace") ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW) : dlopen(path, flags);

	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	REQUIRE(library);
	return library;
}

static void *find(void *library, const char *plugins, const char *mallows)
{
	void *found = dlsym(library, plugins);

	if (!found)
		found = dlsym(library, mallows);
	REQUIRE(found);
	return found;
}

static void *allocate(void *library)
{
	void *(*gives)(size_t size);
	void (*takes)(void *block);

	*(void **)&gives = dlsym(library, "late_gives");
	*(void **)&takes = dlsym(library, "late_takes");
	for (int i = 0; i < 1000; i++) {
		free(keep(malloc(10)));
		if (gives && !has("namespace")) {
			free(gives(20));
			takes(keep(strdup("late")));
		}
		if (gives)
			takes(gives(30));
	}
	return NULL;
}

static void use(void *library)
{
	pthread_t threads[2];
	void (*start)(void);
	int (*is_running)(void);
	int (*failed)(void) = NULL;

	*(void **)&start = find(library, "late_start", "mallow_api_start");
	*(void **)&is_running = find(library, "late_is_running", "mallow_api_is_running");
	*(void **)&failed = dlsym(library, "late_error");
	if (has("start"))
		start();
	printf("running: %d\n", is_running());
	REQUIRE(!failed || failed());
	for (int i = 0; i < 2; i++)
		REQUIRE(pthread_create(&threads[i], NULL, allocate, library) == 0);
	allocate(library);
	for (int i = 0; i < 2; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char **argv)
{
	void *library;

	REQUIRE(argc >= 2);
	count = argc - 2;
	words = argv + 2;
	library = open_one(argv[1]);
	use(library);
	if (has("close")) {
		void *again = has("namespace") ? NULL : open_one(argv[1]);

		REQUIRE(dlclose(library) == 0);
		if (again)
			REQUIRE(dlclose(again) == 0);
		use(open_one(argv[1]));
	}
	for (int i = 0; i < 1000; i++)
		free(keep(malloc(10)));
	puts("ok");
	return 7;
}
