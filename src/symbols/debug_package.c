#include "symbols/debug_package.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"

#define LISTS "/var/lib/dpkg/info" /* PACKAGE.list or PACKAGE:ARCHITECTURE.list */
#define USR   "/usr"

/*
 * Whether a line names the file at path. A package may list a file below /lib, which is a link to
 * /usr/lib.
 */
static bool names_file(const char *line, const char *path)
{
	return strcmp(line, path) == 0 ||
	       (strncmp(path, USR, strlen(USR)) == 0 && strcmp(line, path + strlen(USR)) == 0);
}

/* *ret: whether a line of the list names the file. */
static struct err *search_list(const char *list, const char *path, bool *ret)
{
	auto_fclose FILE *file = fopen(list, "re");
	auto_free char *line = NULL;
	size_t capacity = 0;
	ssize_t length;

	errno = 0;
	while (file && !*ret && (length = getline(&line, &capacity, file)) > 0) {
		line[length - (line[length - 1] == '\n')] = '\0';
		*ret = names_file(line, path);
	}
	return errno == ENOMEM ? err_no_memory() : NULL;
}

static struct err *search_lists(DIR *lists, const char *path, char **ret)
{
	struct dirent *entry;

	while ((entry = readdir(lists))) {
		char *end = strrchr(entry->d_name, '.');
		char list[sizeof(LISTS) + sizeof(entry->d_name)];
		bool found = false;
		struct err *err;

		if (!end || strcmp(end, ".list") != 0)
			continue;
		snprintf(list, sizeof(list), LISTS "/%s", entry->d_name);
		err = search_list(list, path, &found);
		if (err)
			return err;
		if (!found)
			continue;
		*end = '\0';
		*ret = strndup(entry->d_name, strcspn(entry->d_name, ":"));
		return *ret ? NULL : err_no_memory();
	}
	return NULL;
}

struct err *debug_package_find(const char *path, char **ret)
{
	char real[PATH_MAX];
	struct err *err;
	DIR *lists;

	*ret = NULL;
	// A library is recorded under the name that the loader used, often a link's; lists have
	// real names.
	lists = realpath(path, real) ? opendir(LISTS) : NULL;
	if (!lists)
		return NULL;
	err = search_lists(lists, real, ret);
	closedir(lists);
	return err;
}
