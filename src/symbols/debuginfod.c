#include "symbols/debuginfod.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "hosted/cleanup.h"

/* The client library's functions, as its manual page debuginfod_find_debuginfo(3) has them. */
struct client {
	void *(*begin)(void);
	void (*end)(void *client);
	int (*find)(void *client, const unsigned char *build_id, int size, char **path);
};

static bool load(struct client *ret)
{
	// Never closed: libcurl, which it needs, cannot be unloaded safely.
	void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (!library)
		return false;
	*(void **)&ret->begin = dlsym(library, "debuginfod_begin");
	*(void **)&ret->end = dlsym(library, "debuginfod_end");
	*(void **)&ret->find = dlsym(library, "debuginfod_find_debuginfo");
	return ret->begin && ret->end && ret->find;
}

char *debuginfod_fetch(const uint8_t *build_id, size_t size)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct client functions = {0};
	char *path = NULL;

	if (!urls || !urls[0] || !load(&functions))
		return NULL;

	void *client = functions.begin();

	if (!client)
		return NULL;

	// Above 0 the size is that of bytes; 0 would mean that the id is text.
	int fd = functions.find(client, build_id, (int)size, &path);

	functions.end(client);
	if (fd < 0)
		return NULL;
	close(fd);
	return path;
}
