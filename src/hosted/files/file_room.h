/* Room on the disk for what will be written to a file. */
#ifndef MALLOW_HOSTED_FILES_FILE_ROOM_H
#define MALLOW_HOSTED_FILES_FILE_ROOM_H

#include <stdint.h>

/*
 * Sets a file's size and reserves all blocks for it. Returns 0 or an errno: ENOSPC: no room; EFBIG:
 * a limit forbids the size; EOPNOTSUPP: the file system cannot reserve.
 */
int file_room_take(int fd, uint64_t size);

#endif
