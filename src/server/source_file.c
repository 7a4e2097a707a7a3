#include "server/source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "hosted/err.h"

CLEANUP_DEFINE(char *, free);

void source_file_deinit(struct source_file *file)
{
	free(file->path);
	buf_deinit(&file->text);
	*file = (struct source_file){0};
}

/* Without waiting for a writer, should it be a FIFO. */
static int open_regular(const char *path, struct stat *status)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

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
static const char *shorter(const char *path)
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
	for (const char *end = path; real && end && *end; end = shorter(end)) {
		cleanup(free_at) char *found = NULL;

		if (asprintf(&found, "%s/%s", directory, end) < 0) {
			found = NULL;
			return err_no_memory();
		}
		*fd = open_regular(found, status);
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

struct err *source_file_read(const struct source_options *options, const char *path,
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
		fd = *path == '/' ? open_regular(path, &status) : -1;
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
