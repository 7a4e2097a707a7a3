#include "cli/run/run_library.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"

/*
 * Places relative to the tool's directory, tried in this order: the build tree, then the ways to
 * install.
 */
static const char *const places[] = {
	"libmallow.so",
	"../agent/libmallow.so", /* meson's build tree */
#ifdef MALLOW_LIBDIR
	"../" MALLOW_LIBDIR "/libmallow.so",
	"../" MALLOW_LIBDIR "/mallow/libmallow.so",
#endif
	"../lib/libmallow.so",
	"../lib/mallow/libmallow.so",
};

/* The tool's own directory. */
static struct err *own_directory(char directory[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", directory, PATH_MAX - 1);
	char *slash;

	if (length < 0)
		return err_create_errno(errno, "/proc/self/exe");
	directory[length] = 0;
	slash = strrchr(directory, '/');
	if (slash)
		*slash = 0;
	return NULL;
}

/*
 * Checks that LD_PRELOAD can hold the path: ld.so splits at spaces and colons, and there is no
 * escape.
 */
static struct err *check_preloadable(const char *path)
{
	if (strpbrk(path, ": "))
		return err_create("'%s': LD_PRELOAD cannot carry a path with a space or a colon",
				  path);
	return NULL;
}

static struct err *take(const char *path, char **ret)
{
	auto_free char *real = realpath(path, NULL);
	struct err *err;

	if (!real)
		return err_create_errno(errno, "'%s'", path);
	if (access(real, R_OK) < 0)
		return err_create_errno(errno, "'%s'", real);
	err = check_preloadable(real);
	if (!err)
		*ret = steal(&real);
	return err;
}

struct err *run_library_find(char **ret)
{
	const char *given = getenv("MALLOW_LIBRARY");
	char directory[PATH_MAX];
	struct err *err;

	if (given && *given)
		return err_prefix(take(given, ret), "MALLOW_LIBRARY");
	err = own_directory(directory);
	if (err)
		return err;
	for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
		auto_free char *path = NULL;

		if (asprintf(&path, "%s/%s", directory, places[i]) < 0)
			return err_no_memory();
		if (access(path, R_OK) == 0)
			return take(path, ret);
	}
	return err_create("libmallow.so is neither beside the tool (%s) nor in ../lib: "
			  "MALLOW_LIBRARY can name it",
			  directory);
}
