#include "hosted/files/cache_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "hosted/cleanup.h"

/* The value of the variable if it is an absolute path. XDG says that others are to be ignored. */
static const char *folder_in(const char *variable)
{
	const char *path = getenv(variable);

	return path && path[0] == '/' ? path : NULL;
}

static bool make_folder(const char *path)
{
	struct stat status;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return false;
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

char *cache_folder_path(bool make)
{
	const char *caches = folder_in("XDG_CACHE_HOME"), *home = folder_in("HOME");
	auto_free char *parent = NULL;
	char *path;

	if (!caches && !home)
		return NULL;
	if (asprintf(&parent, "%s%s", caches ? caches : home, caches ? "" : "/.cache") < 0) {
		parent = NULL;
		return NULL;
	}
	if ((make && !make_folder(parent)) || asprintf(&path, "%s/mallow", parent) < 0)
		return NULL;
	if (!make || make_folder(path))
		return path;
	free(path);
	return NULL;
}

static int open_nameless(const char *folder)
{
	auto_free char *path = NULL;
	int fd;

	if (!folder)
		return -1;
	fd = open(folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || errno == ENOENT || errno == EACCES)
		return fd;
	// This file system does not know files without a name: make one with a name, and remove
	// that.
	if (asprintf(&path, "%s/mallow-XXXXXX", folder) < 0) {
		path = NULL;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

int cache_folder_nameless(void)
{
	auto_free char *caches = cache_folder_path(true);
	int fd = open_nameless(caches);

	if (fd < 0)
		fd = open_nameless(folder_in("TMPDIR"));
	return fd < 0 ? open_nameless("/tmp") : fd;
}
