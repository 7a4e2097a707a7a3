/* Room on the disk for what will be written to a file. */
#ifndef MALLOW_HOSTED_FILES_FILE_ROOM_H
#define MALLOW_HOSTED_FILES_FILE_ROOM_H

#include <stdint.h>

/*
 * Gives a file its size and the blocks for it at once. 0, or an errno: ENOSPC where there is no
 * room, EFBIG where a limit forbids the size, EOPNOTSUPP where the file system cannot.
 */
int file_room_take(int fd, uint64_t size);

#endif
