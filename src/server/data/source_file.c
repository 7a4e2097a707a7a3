#include "server/data/source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "analysis/recording.h"
#include "hosted/cleanup.h"
#include "hosted/err.h"

/* The most groups of a user that count. A user with more has only the first. */
#define NGROUPS_MOST 256

CLEANUP_DEFINE(char *, free);

void source_file_deinit(struct source_file *file)
{
	free(file->path);
	buf_deinit(&file->text);
	*file = (struct source_file){0};
}

/* Without waiting for a writer, should it be a FIFO. */
static int open_regular(const char *path, bool links, struct stat *status)
{
	const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
				     .resolve = RESOLVE_NO_SYMLINKS};
	int fd = links ? open(path, (int)how.flags)
		       : (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	if (fd >= 0 && (fstat(fd, status) != 0 || !S_ISREG(status->st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Whether an open file lies below a directory. real: the directory's own path, without links. */
static bool lies_below(int fd, const char *real)
{
	char link[64];
	cleanup(free_at) char *path = NULL;
	size_t length = strlen(real);

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	path = realpath(link, NULL);
	return path && strncmp(path, real, length) == 0 &&
	       (path[length] == '/' || (length == 1 && *real == '/'));
}

/* The part of a path behind its first name; NULL: it has no more. */
static const char *path_without_first(const char *path)
{
	const char *slash = strchr(path, '/');

	while (slash && *slash == '/')
		slash++;
	return slash && *slash ? slash : NULL;
}

/* Opens the longest end of path that is a file below the directory. *ret: where; owned. */
static struct err *open_below(const char *directory, const char *path, struct stat *status,
			      char **ret, int *fd)
{
	cleanup(free_at) char *real = realpath(directory, NULL);

	*fd = -1;
	while (*path == '/')
		path++;
	for (const char *end = path; real && end && *end; end = path_without_first(end)) {
		cleanup(free_at) char *found = NULL;

		if (asprintf(&found, "%s/%s", directory, end) < 0) {
			found = NULL;
			return err_no_memory();
		}
		*fd = open_regular(found, true, status);
		if (*fd >= 0 && lies_below(*fd, real)) {
			*ret = steal(&found);
			return NULL;
		}
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
	}
	return NULL;
}

static struct err *read_text(int fd, size_t size, struct buf *text)
{
	while (size) {
		char piece[16384];
		ssize_t got = read(fd, piece, size < sizeof(piece) ? size : sizeof(piece));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_create_errno(errno, "cannot be read");
		if (!got)
			return NULL;
		buf_put(text, piece, (size_t)got);
		size -= (size_t)got;
	}
	return NULL;
}

const char *source_file_doubt(const struct source_options *options,
			      const struct recording_facts *facts)
{
	if (!options->served || options->directory)
		return NULL;
	if (facts->foreign)
		return "the recording came from another machine or user, and may name any file: "
		       "give --sources=DIR, where the sources lie";
	if (facts->owner != geteuid() && geteuid())
		return "the recording is another user's, and may name any file: give "
		       "--sources=DIR, where the sources lie";
	return NULL;
}

/*
 * Gives this thread alone the rights of a user as to files, or root's own back: a user's recording
 * may name any file, and root must not read more for that user than the user can.
 */
static bool take_rights(uid_t uid)
{
	gid_t groups[NGROUPS_MOST], group = 0;
	int count = 0;

	if (uid) {
		char names[4096];
		struct passwd entry, *found = NULL;

		if (getpwuid_r(uid, &entry, names, sizeof(names), &found) || !found)
			return false;
		group = found->pw_gid;
		count = NGROUPS_MOST;
		if (getgrouplist(found->pw_name, group, groups, &count) < 0)
			count = 0;
	}
	// Not by setgroups(), which would change all threads.
	if (syscall(SYS_setgroups, count, groups) < 0)
		return false;
	setfsgid(group);
	setfsuid(uid);
	return (uid_t)setfsuid((uid_t)-1) == uid;
}

/* Opens a file with the rights of the recording's owner. */
static int open_as_owner(const char *path, uid_t owner, struct stat *status)
{
	bool other = owner != geteuid();
	int fd = -1;

	if (*path != '/')
		return -1;
	if (!other || take_rights(owner))
		fd = open_regular(path, false, status);
	if (other && !take_rights(0))
		abort(); // this thread has become somebody else for good
	return fd;
}

struct err *source_file_read(const struct source_options *options,
			     const struct recording_facts *facts, const char *path,
			     struct source_file *ret)
{
	struct stat status;
	struct err *err = NULL;
	int fd;

	*ret = (struct source_file){.text = BUF_EMPTY};
	if (options->directory) {
		err = open_below(options->directory, path, &status, &ret->path, &fd);
		if (err)
			return err;
	} else {
		fd = open_as_owner(path, facts->owner, &status);
		ret->path = fd >= 0 ? strdup(path) : NULL;
	}
	if (fd < 0)
		return NULL;
	if (!ret->path)
		err = err_no_memory();
	else if (status.st_size > SOURCE_FILE_MOST)
		err = err_create("'%s' has %lld bytes, and at most %u are shown", ret->path,
				 (long long)status.st_size, SOURCE_FILE_MOST);
	else
		err = err_prefix(read_text(fd, (size_t)status.st_size, &ret->text), "'%s'",
				 ret->path);
	close(fd);
	ret->changed = status.st_mtim;
	if (err)
		source_file_deinit(ret);
	return err;
}
