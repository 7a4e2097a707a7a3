#include "cli/attach/attach_name.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "settings/output_name.h"

#define NAMES_MAX 10000 /* numbers that %n tries */

static void fill_in(pid_t pid, const char *program, struct output_name *ret)
{
	struct utsname host;

	*ret = (struct output_name){.pid = (uint64_t)pid, .seconds = (uint64_t)time(NULL)};
	snprintf(ret->executable, sizeof(ret->executable), "%s", file_name(program));
	uname(&host);
	snprintf(ret->host, sizeof(ret->host), "%s", host.nodename);
}

/* Makes the missing directories of the path, as far as it can: opening the file tells. */
static void make_parents(char *path)
{
	for (char *c = path + 1; *c; c++) {
		if (*c != '/')
			continue;
		*c = '\0';
		mkdir(path, 0777);
		*c = '/';
	}
}

struct err *attach_name(const char *pattern, pid_t pid, const char *program, char **ret)
{
	struct output_name name;
	char path[PATH_MAX];
	auto_free char *directory = getcwd(NULL, 0);
	uint64_t tries = output_name_has(pattern, 'n') ? NAMES_MAX : 1, n = 0;

	fill_in(pid, program, &name);
	do
		if (!output_name_expand(&name, pattern, n, path, sizeof(path)))
			return err_create_errno(ENAMETOOLONG, "'%s'", pattern);
	while (++n < tries && access(path, F_OK) == 0);
	if (*path == '/' || !directory)
		*ret = strdup(path);
	else if (asprintf(ret, "%s/%s", directory, path) < 0)
		*ret = NULL;
	if (!*ret)
		return err_no_memory();
	make_parents(*ret);
	return NULL;
}
