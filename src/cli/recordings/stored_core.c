/* The names are those of systemd-coredump(8), "core.%s.%u.%s.%u.%llu" and the compression's end. */
#include "cli/recordings/stored_core.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hosted/cleanup.h"

#define FOLDER "/var/lib/systemd/coredump"

/* Behind NAME, which may have dots in it. */
enum { UID, BOOT, PID, TIME, FIELDS };

bool stored_core_is_pid(const char *word)
{
	return *word && !word[strspn(word, "0123456789")] && access(word, F_OK) != 0;
}

/*
 * *time: when the file of that name was dumped, in microseconds. false: it is no core dump of the
 * process.
 */
static bool is_of(const char *name, const char *pid, uint64_t *time)
{
	auto_free char *copy = strdup(name);
	const char *fields[FIELDS] = {0};
	char *end;

	if (!copy || strncmp(copy, "core.", 5) != 0)
		return false;
	// "…1732579200000000.zst": without the end of the compression.
	end = strrchr(copy, '.');
	if (end && end[strspn(end, ".0123456789")])
		*end = 0;
	for (int i = FIELDS - 1; i >= 0; i--) {
		end = strrchr(copy, '.');
		if (!end)
			return false;
		*end = 0;
		fields[i] = end + 1;
	}
	*time = strtoull(fields[TIME], NULL, 10);
	return strcmp(fields[PID], pid) == 0;
}

static void close_folder(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

struct err *stored_core_find(const char *pid, char **ret)
{
	const char *path = getenv("MALLOW_COREDUMPS");
	cleanup(close_folder) DIR *folder = NULL;
	auto_free char *best = NULL;
	uint64_t newest = 0, time;
	const struct dirent *entry;

	if (!path || !*path)
		path = FOLDER;
	folder = opendir(path);
	if (!folder && errno != ENOENT)
		return err_create_errno(errno, "cannot look for core dumps in '%s'", path);
	while (folder && (entry = readdir(folder)) != NULL) {
		if (!is_of(entry->d_name, pid, &time) || (best && time <= newest))
			continue;
		newest = time;
		free(best);
		if (asprintf(&best, "%s/%s", path, entry->d_name) < 0) {
			best = NULL;
			return err_no_memory();
		}
	}
	if (!best)
		return err_create("no file '%s', and no core dump of process %s in '%s'", pid, pid,
				  path);
	*ret = steal(&best);
	return NULL;
}
