#include "cli/live/live_output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "hosted/file_name.h"

char *live_output_name(const struct recording_facts *facts)
{
	char path[64], name[64];
	size_t size = 0;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", facts->pid);

	// If it has ended, another process may have its number by now.
	auto_fclose FILE *file = facts->alive ? fopen(path, "re") : NULL;

	if (file)
		size = fread(name, 1, sizeof(name) - 1, file);
	name[size] = 0;
	name[strcspn(name, "\n")] = 0;
	if (*name)
		return strdup(name);
	return strdup(file_name(facts->program));
}

bool live_output_is_hidden(const struct recording_facts *facts)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd/%d", facts->pid, STDERR_FILENO);
	if (!facts->alive || fstat(STDERR_FILENO, &ours) < 0)
		return false;
	if (stat(path, &theirs) < 0)
		return errno == ENOENT;
	return ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino;
}

char *live_output_path(const struct recording_facts *facts, const char *path)
{
	char *whole;

	if (*path == '/' || !*facts->directory)
		return strdup(path);
	return asprintf(&whole, "%s/%s", facts->directory, path) < 0 ? NULL : whole;
}

/* Whether this is the program that `mallow live` started, and not one that the program started. */
static bool is_program(const struct recording_facts *facts)
{
	const char *starter = getenv(LIVE_OUTPUT_STARTER);

	return starter ? strtoul(starter, NULL, 10) == facts->parent_pid : !*facts->parent_id;
}

/* Replaces what would make the name another path, or would harm a terminal. */
static void make_harmless(char *name)
{
	for (; *name; name++)
		if (*name == '/' || (unsigned char)*name < 0x20 || *name == 0x7f)
			*name = '_';
}

struct err *live_output_open(const struct recording_facts *facts, const char *outfile,
			     const char *name, int *ret)
{
	auto_free char *path = live_output_path(facts, outfile);
	auto_free char *harmless = strdup(name);
	auto_free char *longer = NULL;
	int fd;

	if (!path || !harmless)
		return err_no_memory();
	make_harmless(harmless);
	if (!is_program(facts)) {
		if (asprintf(&longer, "%s.%" PRIu32 ".%s", path, facts->pid, harmless) < 0) {
			longer = NULL;
			return err_no_memory();
		}
	}
	fd = open(longer ? longer : path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY,
		  0666);
	if (fd < 0)
		return err_create_errno(errno, "cannot write '%s'", longer ? longer : path);
	*ret = fd;
	return NULL;
}

struct err *live_output_check(const char *outfile)
{
	auto_free char *copy = strdup(outfile);
	const char *place = outfile;

	if (!copy)
		return err_no_memory();
	if (access(outfile, F_OK) < 0)
		place = dirname(copy);
	return access(place, W_OK) < 0 ? err_create_errno(errno, "cannot write '%s'", outfile)
				       : NULL;
}
