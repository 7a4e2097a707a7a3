#include "cli/run_registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hosted/cleanup.h"

struct err *run_registry_create(struct run_registry *ret)
{
	const char *directory = getenv("TMPDIR");
	auto_free char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/mallow-run-XXXXXX", directory && *directory ? directory : "/tmp") <
	    0)
		return err_no_memory();
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return err_create_errno(errno, "cannot make the temporary file '%s'", path);
	close(fd);
	*ret = (struct run_registry){.path = steal(&path)};
	return NULL;
}

static bool known(const struct run_registry *registry, const char *path)
{
	for (size_t i = 0; i < registry->count; i++) {
		if (strcmp(registry->recordings[i], path) == 0)
			return true;
	}
	return false;
}

static struct err *add(struct run_registry *registry, const char *path)
{
	char **grown;

	if (!*path)
		registry->refused = true;
	if (*path != '/' || known(registry, path))
		return NULL;
	grown = reallocarray(registry->recordings, registry->count + 1, sizeof(*grown));
	if (!grown)
		return err_no_memory();
	registry->recordings = grown;
	grown[registry->count] = strdup(path);
	if (!grown[registry->count])
		return err_no_memory();
	registry->count++;
	return NULL;
}

struct err *run_registry_read(struct run_registry *registry)
{
	auto_fclose FILE *file = fopen(registry->path, "re");
	auto_free char *path = NULL;
	struct err *err = NULL;
	size_t capacity = 0;

	if (!file)
		return err_create_errno(errno, "'%s'", registry->path);
	while (!err && getdelim(&path, &capacity, '\0', file) > 0)
		err = add(registry, path);
	return err;
}

void run_registry_deinit(struct run_registry *registry)
{
	if (registry->path)
		unlink(registry->path);
	for (size_t i = 0; i < registry->count; i++)
		free(registry->recordings[i]);
	free(registry->recordings);
	free(registry->path);
	*registry = (struct run_registry){0};
}
