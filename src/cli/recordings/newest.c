#include "cli/recordings/newest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/recording.h"
#include "cli/cli.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "trace/chunk_check.h"

/* A recording of the user's own. */
struct own {
	char *path; /* owned */
	struct trace_header header;
	off_t size;
	size_t root; /* the index of its run's outermost process */
};

struct own_list {
	VEC(struct own) items; /* in the order in which they began */
};

static void own_list_deinit(struct own_list *list)
{
	for (size_t i = 0; i < list->items.count; i++)
		free(list->items.items[i].path);
	vec_deinit(&list->items);
}

/* Whether the file is a recording of that user. */
static bool read_own(const char *path, uid_t uid, struct own *ret)
{
	uint8_t head[sizeof(ret->header)];
	struct stat status;
	// O_NONBLOCK: a FIFO is not waited for.
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t got;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != uid)
		return false;
	got = read(fd, head, sizeof(head));
	if (got < 0 || header_check(head, (size_t)got, &ret->header) != HEADER_VALID)
		return false;
	ret->size = status.st_size;
	return true;
}

bool newest_is_own(const char *path)
{
	struct own own;

	return read_own(path, geteuid(), &own);
}

/* The index of the process that started that of `child`; its own: it is not there. */
static size_t parent_of(const struct own_list *list, size_t child)
{
	const struct own *items = list->items.items;

	// A parent began before.
	for (size_t i = child; i-- > 0;)
		if (memcmp(items[i].header.id, items[child].header.parent_id,
			   sizeof(items[i].header.id)) == 0)
			return i;
	return child;
}

static struct err *list_own(const char *directory, uid_t uid, struct own_list *list)
{
	cleanup(recording_paths_deinit) struct recording_paths paths = {.empty_allowed = true};
	struct err *err = recording_paths_add(directory, &paths);

	for (size_t i = 0; !err && i < paths.items.count; i++) {
		const char *path = paths.items.items[i];
		struct own own;

		if (!read_own(path, uid, &own))
			continue;
		own.path = strdup(strncmp(path, "./", 2) == 0 ? path + 2 : path);
		if (!own.path)
			return err_no_memory();
		if (!vec_push(&list->items, own)) {
			free(own.path);
			return err_no_memory();
		}
	}
	for (size_t i = 0; i < list->items.count; i++) {
		size_t parent = parent_of(list, i);

		list->items.items[i].root = parent == i ? i : list->items.items[parent].root;
	}
	return err;
}

/* The largest file of the newest run; the earliest of several that are. *mates: how many there are.
 */
static const struct own *find_newest(const struct own_list *list, size_t *mates)
{
	const struct own *items = list->items.items;
	const struct own *last = &items[list->items.count - 1], *newest = last;

	*mates = 0;
	for (size_t i = list->items.count; i-- > 0;) {
		if (items[i].root != last->root)
			continue;
		++*mates;
		if (items[i].size >= newest->size)
			newest = &items[i];
	}
	return newest;
}

/* The program of a recording, owned by the caller. NULL: it cannot be read. */
static char *program_of(const char *path)
{
	struct recording *recording;
	struct err *err = recording_open(path, RECORDING_SUMS, NULL, NULL, &recording);
	char *program;

	err_destroy(err);
	if (err)
		return NULL;
	program = strdup(file_name(recording_facts(recording)->program));
	recording_close(recording);
	return program;
}

/* The latest recording of the same program that is of an older run. NULL: there is none. */
static const struct own *find_before(const struct own_list *list, const struct own *newest)
{
	const struct own *items = list->items.items;
	auto_free char *program = program_of(newest->path);

	for (size_t i = list->items.count; program && i-- > 0;) {
		auto_free char *other =
			items[i].root < newest->root ? program_of(items[i].path) : NULL;

		if (other && strcmp(other, program) == 0)
			return &items[i];
	}
	return NULL;
}

/* The operands that were found, until the program ends. */
static char *found[2];

static bool set_operand(struct options *options, const char *path, const char *moment)
{
	char **operand = &found[options->operand_count];

	if (asprintf(operand, "%s%s", path, moment) < 0) {
		*operand = NULL;
		cli_report_err(err_no_memory());
		return false;
	}
	options->operands = found;
	options->operand_count++;
	return true;
}

/* false: there is none; an error was printed. */
static bool list_here(const struct command *command, struct own_list *list)
{
	struct err *err = list_own(".", geteuid(), list);

	if (err) {
		cli_report_err(err);
		return false;
	}
	if (list->items.count)
		return true;
	cli_error(CLI_USAGE, "'%s' needs a recording, and none of yours is here: mallow %s %s",
		  command->name, command->name, command->usage);
	return false;
}

bool newest_operand(const struct command *command, struct options *options)
{
	cleanup(own_list_deinit) struct own_list list = {VEC_EMPTY};
	const struct own *newest;
	size_t mates;

	if (options->operand_count)
		return true;
	if (!list_here(command, &list))
		return false;
	newest = find_newest(&list, &mates);
	if (mates > 1)
		cli_error(CLI_OK, "%s, the largest of the %zu recordings of the newest run here",
			  newest->path, mates);
	else
		cli_error(CLI_OK, "%s, the newest recording here", newest->path);
	return set_operand(options, newest->path, "");
}

static bool pair_of_one(struct options *options, const char *path)
{
	options->operand_count = 0;
	cli_error(CLI_OK, "%s: what was live in the middle of it, and at its end", path);
	return set_operand(options, path, "@50%") && set_operand(options, path, "@end");
}

bool newest_pair(const struct command *command, struct options *options)
{
	cleanup(own_list_deinit) struct own_list list = {VEC_EMPTY};
	const struct own *newest, *before;
	size_t mates;

	if (options->operand_count == 1)
		return pair_of_one(options, options->operands[0]);
	if (options->operand_count)
		return true;
	if (!list_here(command, &list))
		return false;
	newest = find_newest(&list, &mates);
	before = find_before(&list, newest);
	if (!before) {
		cli_error(CLI_USAGE,
			  "'diff' needs two recordings, and of the program of %s, the newest here, "
			  "none of yours is older: mallow diff %s compares its middle and its end",
			  newest->path, newest->path);
		return false;
	}
	cli_error(CLI_OK, "%s and %s, the newest recording here and the one before of its program",
		  before->path, newest->path);
	return set_operand(options, before->path, "") && set_operand(options, newest->path, "");
}

static struct err *add_run_of(const char *path, struct recording_paths *paths)
{
	cleanup(own_list_deinit) struct own_list list = {VEC_EMPTY};
	const char *slash = strrchr(path, '/');
	auto_free char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	struct stat status;
	struct own self;
	struct err *err;
	size_t root;

	// Of whoever owns the named one: its parts are as trustworthy as itself.
	if (!directory)
		return err_no_memory();
	if (stat(path, &status) < 0 || !read_own(path, status.st_uid, &self))
		return recording_paths_add(path, paths);
	err = list_own(directory, status.st_uid, &list);
	if (err)
		return err;
	root = list.items.count;
	for (size_t i = 0; i < list.items.count; i++)
		if (memcmp(list.items.items[i].header.id, self.header.id, sizeof(self.header.id)) ==
		    0)
			root = list.items.items[i].root;
	for (size_t i = 0; !err && i < list.items.count; i++)
		if (list.items.items[i].root == root)
			err = recording_paths_add(list.items.items[i].path, paths);
	return err || paths->items.count ? err : recording_paths_add(path, paths);
}

struct err *newest_find_merged(const struct options *options, struct recording_paths *paths)
{
	return options->operand_count == 1 ? add_run_of(options->operands[0], paths)
					   : recording_paths_find(options, paths);
}
