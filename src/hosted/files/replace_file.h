/*
 * A file that takes the place of another one when it is complete, and leaves it alone otherwise:
 * whatever happens before replace_file_commit(), the old file is as it was. Where the file system
 * can, the new one has no name until then, so that not even a kill leaves a trace.
 */
#ifndef MALLOW_HOSTED_FILES_REPLACE_FILE_H
#define MALLOW_HOSTED_FILES_REPLACE_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "hosted/err.h"

struct replace_file {
	int fd;          /* to be written to */
	char *path;      /* of the file to be replaced, without symbolic links */
	char *directory; /* that it lies in */
	char *temporary; /* the new file's name while it has one */
	dev_t device;    /* of the file to be replaced: another one by its name is left alone */
	ino_t inode;
	nlink_t links; /* its names: those besides path stay with the old file */
};

/*
 * path: a regular file. The new one gets its mode, and its owner; where that is not allowed it is
 * not made. Extended attributes, access control lists among them, it gets as far as is allowed.
 */
struct err *replace_file_create(const char *path, struct replace_file *ret);

struct err *replace_file_write(const struct replace_file *file, const void *data, size_t size);

/* Puts the new file into the old one's place. */
struct err *replace_file_commit(struct replace_file *file);

/* Drops the new file unless it was committed. Accepts a zeroed struct with fd -1. */
void replace_file_deinit(struct replace_file *file);

#endif
