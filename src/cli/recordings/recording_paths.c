#include "cli/recordings/recording_paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "hosted/cleanup.h"
#include "trace/chunk_check.h"

#define SUFFIX ".mallow"

/* A recording in a directory. */
struct found {
	uint64_t start;
	char *path;
};

struct found_list {
	VEC(struct found) items;
};

static void found_list_deinit(struct found_list *list)
{
	for (size_t i = 0; i < list->items.count; i++)
		free(list->items.items[i].path);
	vec_deinit(&list->items);
}

static void close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

void recording_paths_deinit(struct recording_paths *paths)
{
	for (size_t i = 0; i < paths->items.count; i++)
		free(paths->items.items[i]);
	vec_deinit(&paths->items);
}

static int compare_found(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return strcmp(a->path, b->path);
}

/*
 * Whether recordings are called so: "a.mallow", or "a.mallow.71.0", which is of a child and was
 * made by its second program.
 */
static bool is_called_recording(const char *name)
{
	for (const char *at = name; (at = strstr(at, SUFFIX)); at++)
		if (at > name && !at[strlen(SUFFIX) + strspn(at + strlen(SUFFIX), ".0123456789")])
			return true;
	return false;
}

/* Whether the entry is not there any more. A symbolic link that leads nowhere is there. */
static bool is_gone(const char *path)
{
	struct stat status;

	return lstat(path, &status) < 0 && errno == ENOENT;
}

/*
 * Whether the file is taken: it begins as a recording does, is called like one, or cannot be read.
 * Whoever opens it says what is wrong with it. name: its own name. *start: when the recording
 * began; UINT64_MAX: not known.
 */
static bool is_taken(const char *path, const char *name, uint64_t *start)
{
	uint8_t head[sizeof(struct trace_header)] = {0};
	uint64_t magic = TRACE_MAGIC;
	struct trace_header header;
	auto_close int fd = -1;
	struct stat status;
	ssize_t got;

	*start = UINT64_MAX;
	if (stat(path, &status) < 0)
		return errno == EACCES || (is_called_recording(name) && !is_gone(path));
	if (!S_ISREG(status.st_mode))
		return is_called_recording(name);
	// O_NONBLOCK: a FIFO that took the file's place just now is not waited for.
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	got = fd < 0 ? -1 : read(fd, head, sizeof(head));
	if (got < 0)
		return !is_gone(path);
	if (got < (ssize_t)sizeof(magic) || memcmp(head, &magic, sizeof(magic)) != 0)
		return is_called_recording(name);
	memcpy(&header, head, sizeof(header));
	*start = header.start_realtime_ns;
	return true;
}

static struct err *list_directory(const char *path, DIR *directory, struct found_list *list)
{
	const struct dirent *entry;

	while (errno = 0, (entry = readdir(directory)) != NULL) {
		auto_free char *name = NULL;
		uint64_t start;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (asprintf(&name, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/",
			     entry->d_name) < 0) {
			name = NULL;
			return err_no_memory();
		}
		if (!is_taken(name, entry->d_name, &start))
			continue;
		if (!vec_push(&list->items, (struct found){start, name}))
			return err_no_memory();
		name = NULL;
	}
	if (errno)
		return err_create_errno(errno, "cannot read '%s'", path);
	if (list->items.count)
		qsort(list->items.items, list->items.count, sizeof(*list->items.items),
		      compare_found);
	return NULL;
}

static struct err *add_directory(const char *path, struct recording_paths *paths)
{
	cleanup(close_directory) DIR *directory = opendir(path);
	cleanup(found_list_deinit) struct found_list list = {VEC_EMPTY};
	struct err *err;

	paths->directories = true;
	if (!directory) {
		cli_error(CLI_FAILED, "cannot open '%s': %s", path, strerror(errno));
		paths->failed = true;
		return NULL;
	}
	err = list_directory(path, directory, &list);
	if (err)
		return err;
	if (!list.items.count && !paths->empty_allowed) {
		cli_error(CLI_FAILED, "no recording is in the directory '%s'", path);
		paths->failed = true;
	}
	if (!vec_reserve(&paths->items, list.items.count))
		return err_no_memory();
	for (size_t i = 0; i < list.items.count; i++)
		paths->items.items[paths->items.count++] = steal(&list.items.items[i].path);
	return NULL;
}

static struct err *add_file(const char *path, struct recording_paths *paths)
{
	char *copy;

	if (!vec_reserve(&paths->items, 1))
		return err_no_memory();
	copy = strdup(path);
	if (!copy)
		return err_no_memory();
	paths->items.items[paths->items.count++] = copy;
	return NULL;
}

struct err *recording_paths_add(const char *path, struct recording_paths *paths)
{
	struct stat status;

	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		return add_directory(path, paths);
	return add_file(path, paths);
}

struct err *recording_paths_find(const struct options *options, struct recording_paths *paths)
{
	struct err *err = NULL;

	for (int i = 0; !err && i < options->operand_count; i++)
		err = recording_paths_add(options->operands[i], paths);
	return err;
}
