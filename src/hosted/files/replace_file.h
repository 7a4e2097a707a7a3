/*
 * Replaces a file by a new one once the new one is complete. Until replace_file_commit() the old
 * file stays as it is, whatever happens. If the file system can, the new file has no name until
 * then, so not even a kill leaves a trace.
 */
#ifndef MALLOW_HOSTED_FILES_REPLACE_FILE_H
#define MALLOW_HOSTED_FILES_REPLACE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hosted/err.h"

struct replace_file {
	int fd;          /* the new file, for writing */
	char *path;      /* of the old file, without symbolic links */
	char *directory; /* the directory that it lies in */
	char *temporary; /* the new file's name while it has one, else NULL */
	dev_t device;    /* of the old file; another file under its name is left alone */
	ino_t inode;
	nlink_t links; /* how many names the old file has; all but path keep it */
};

/*
 * Makes the new file for the regular file at path, with its mode and its owner; an error if that is
 * not allowed. Extended attributes, also access control lists, are copied as far as is allowed.
 */
struct err *replace_file_create(const char *path, struct replace_file *ret);

struct err *replace_file_write(const struct replace_file *file, const void *data, size_t size);

/* Writes over a part of what was written. */
struct err *replace_file_patch(const struct replace_file *file, uint64_t offset, const void *data,
			       size_t size);

/*
 * Puts the new file into the old one's place. An error: the old file was replaced meanwhile, or the
 * system says no; then the old file is as it was.
 */
struct err *replace_file_commit(struct replace_file *file);

/*
 * Closes the new file, and removes it unless it was committed. Accepts a zeroed struct with fd -1.
 */
void replace_file_deinit(struct replace_file *file);

#endif
