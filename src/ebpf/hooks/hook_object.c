#include "ebpf/hooks/hook_object.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "hosted/file_name.h"

/* What file names of libraries have behind the library's name: .so.6, or a version. */
static bool is_library_end(const char *rest)
{
	return !*rest || *rest == '.' || (*rest == '-' && isdigit((unsigned char)rest[1]));
}

bool hook_object_is_named(const char *path, const char *object)
{
	const char *name = file_name(path);
	size_t length = strlen(object);

	if (!length)
		return false;
	if (strncmp(name, object, length) == 0 && is_library_end(name + length))
		return true;
	if (strcmp(object, "c") == 0 && strncmp(name, "ld-musl-", strlen("ld-musl-")) == 0)
		return true;
	return strncmp(name, "lib", 3) == 0 && strncmp(name + 3, object, length) == 0 &&
	       is_library_end(name + 3 + length);
}

static bool is_file(const struct target_module *module, const char *path)
{
	struct stat file, named;

	return module->fd >= 0 && fstat(module->fd, &file) == 0 && stat(path, &named) == 0 &&
	       file.st_dev == named.st_dev && file.st_ino == named.st_ino;
}

bool hook_object_is(const struct target *target, const struct target_module *module,
		    const char *object)
{
	char path[PATH_MAX + 64];

	if (!strchr(object, '/') && hook_object_is_named(module->path, object))
		return true;
	if (is_file(module, object))
		return true;
	if (object[0] != '/')
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/root%s", target->proc, object);
	return is_file(module, path) || strcmp(module->path, object) == 0;
}
