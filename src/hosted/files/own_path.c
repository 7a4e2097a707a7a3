#include "hosted/files/own_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hosted/cleanup.h"

struct err *own_path(char **ret)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path));

	if (length < 0)
		return err_create_errno(errno, "/proc/self/exe");
	*ret = strndup(path, (size_t)length);
	return *ret ? NULL : err_no_memory();
}

struct err *own_path_beside(const char *file, char **ret)
{
	auto_free char *own = NULL;
	struct err *err = own_path(&own);
	int folder;

	if (err)
		return err;
	folder = (int)(strrchr(own, '/') + 1 - own); // the kernel's path is absolute
	return asprintf(ret, "%.*s%s", folder, own, file) < 0 ? err_no_memory() : NULL;
}
