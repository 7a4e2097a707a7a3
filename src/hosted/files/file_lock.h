/*
 * Marks a file as being written by this process, for other processes that look at it. The mark goes
 * with the descriptor, so it ends with the process, however that ends. (An OFD lock: fcntl(2).)
 */
#ifndef MALLOW_HOSTED_FILES_FILE_LOCK_H
#define MALLOW_HOSTED_FILES_FILE_LOCK_H

#include <stdbool.h>

/* fd: open for writing. false: somebody else has marked it, or the file system has no locks. */
bool file_lock_take(int fd);

/* Whether another descriptor holds the mark. fd: open for reading. */
bool file_lock_is_held(int fd);

#endif
