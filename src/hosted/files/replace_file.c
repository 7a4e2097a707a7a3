#include "hosted/files/replace_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "hosted/cleanup.h"

#define NAME_ATTEMPTS 100
#define SYNC_SIZE     (1 << 20)

/* Linux's limits for a list of attributes' names, and for a value. */
#define ATTRIBUTE_NAMES_MAX XATTR_LIST_MAX
#define ATTRIBUTE_VALUE_MAX XATTR_SIZE_MAX

static struct err *fail(const struct replace_file *file, int number)
{
	return err_create_errno(number, "cannot rewrite '%s'", file->path);
}

static struct err *set_names(const char *path, struct replace_file *file)
{
	char *slash;

	file->path = realpath(path, NULL);
	if (!file->path)
		return errno == ENOMEM ? err_no_memory() : err_create_errno(errno, "'%s'", path);
	file->directory = strdup(file->path);
	if (!file->directory)
		return err_no_memory();
	slash = strrchr(file->directory, '/');
	slash[slash == file->directory] = 0;
	return NULL;
}

/* A temporary name in the file's directory. It is short, however long the file's own name is. */
static struct err *next_name(struct replace_file *file, int attempt)
{
	free(file->temporary);
	if (asprintf(&file->temporary, "%s/.rewrite-%d-%d", file->directory, (int)getpid(),
		     attempt) < 0) {
		file->temporary = NULL;
		return err_no_memory();
	}
	return NULL;
}

/* Opens the new file: without a name if the file system knows such files. */
static struct err *open_new(struct replace_file *file)
{
	struct err *err;

	assert(file->directory);
	file->fd = open(file->directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	for (int i = 0; file->fd < 0 && i < NAME_ATTEMPTS; i++) {
		err = next_name(file, i);
		if (err)
			return err;
		assert(file->temporary);
		file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (file->fd < 0 && errno != EEXIST)
			break;
	}
	if (file->fd >= 0)
		return NULL;
	err = fail(file, errno);
	free(steal(&file->temporary));
	return err;
}

/*
 * Sets the owner before the mode: a file that is to belong to somebody else must not be readable by
 * all in between.
 */
static struct err *copy_status(struct replace_file *file)
{
	struct stat status;

	if (stat(file->path, &status) < 0)
		return fail(file, errno);
	file->device = status.st_dev;
	file->inode = status.st_ino;
	file->links = status.st_nlink;
	if ((status.st_uid != geteuid() || status.st_gid != getegid()) &&
	    fchown(file->fd, status.st_uid, status.st_gid) < 0) {
		if (errno != EPERM)
			return fail(file, errno);
		return err_create("cannot rewrite '%s': it belongs to another user or group",
				  file->path);
	}
	if (fchmod(file->fd, status.st_mode & 07777) < 0)
		return fail(file, errno);
	return NULL;
}

/*
 * Copies access control lists and other attributes as far as that is allowed. No failure here is
 * worth giving up the new file.
 */
static void copy_attributes(const struct replace_file *file)
{
	char names[ATTRIBUTE_NAMES_MAX], value[ATTRIBUTE_VALUE_MAX];
	ssize_t size = listxattr(file->path, names, sizeof(names));

	for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1) {
		ssize_t length = getxattr(file->path, names + at, value, sizeof(value));

		if (length >= 0)
			fsetxattr(file->fd, names + at, value, (size_t)length, 0);
	}
}

struct err *replace_file_create(const char *path, struct replace_file *ret)
{
	struct replace_file file = {.fd = -1};
	struct err *err;

	err = set_names(path, &file);
	if (!err)
		err = open_new(&file);
	if (!err)
		err = copy_status(&file);
	if (!err)
		copy_attributes(&file);
	if (err) {
		replace_file_deinit(&file);
		return err;
	}
	*ret = file;
	return NULL;
}

struct err *replace_file_write(const struct replace_file *file, const void *data, size_t size)
{
	const char *p = data;

	while (size) {
		ssize_t written = write(file->fd, p, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return fail(file, errno);
		p += written;
		size -= (size_t)written;
	}
	return NULL;
}

struct err *replace_file_patch(const struct replace_file *file, uint64_t offset, const void *data,
			       size_t size)
{
	ssize_t written = pwrite(file->fd, data, size, (off_t)offset);

	return written == (ssize_t)size ? NULL : fail(file, written < 0 ? errno : EIO);
}

/*
 * Gives the new file a temporary name: only a file with a name can replace another one in one step.
 */
static struct err *give_name(struct replace_file *file)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", file->fd);
	for (int i = 0; i < NAME_ATTEMPTS; i++) {
		struct err *err = next_name(file, i);

		if (err)
			return err;
		assert(file->temporary);
		if (linkat(AT_FDCWD, self, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) == 0)
			return NULL;
		if (errno != EEXIST)
			break;
	}
	free(steal(&file->temporary));
	return fail(file, errno);
}

/*
 * Checks that the old file is still there under its name. Another file with that name, perhaps the
 * recording of another run, is not ours to replace.
 */
static struct err *check_old(const struct replace_file *file)
{
	struct stat status;

	if (stat(file->path, &status) < 0)
		return fail(file, errno);
	if (status.st_dev != file->device || status.st_ino != file->inode)
		return err_create("cannot rewrite '%s': it was replaced meanwhile", file->path);
	return NULL;
}

static bool is_large(const struct replace_file *file)
{
	struct stat status;

	return fstat(file->fd, &status) < 0 || status.st_size >= SYNC_SIZE;
}

struct err *replace_file_commit(struct replace_file *file)
{
	struct err *err;

	// Without fsync() a power failure may leave a name with nothing behind it. Small files do
	// without: a run of a thousand processes would wait for the disk a thousand times.
	if (is_large(file) && fsync(file->fd) < 0 && errno != EINVAL && errno != EROFS)
		return fail(file, errno);
	if (!file->temporary) {
		err = give_name(file);
		if (err)
			return err;
	}
	// As late as possible: only a recording that is begun within these microseconds is missed.
	err = check_old(file);
	if (err)
		return err;
	if (rename(file->temporary, file->path) < 0)
		return fail(file, errno);
	free(steal(&file->temporary));
	return NULL;
}

void replace_file_deinit(struct replace_file *file)
{
	if (file->temporary)
		unlink(file->temporary);
	if (file->fd >= 0)
		close(file->fd);
	free(file->temporary);
	free(file->directory);
	free(file->path);
	*file = (struct replace_file){.fd = -1};
}
