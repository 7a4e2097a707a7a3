/* Whether anybody has a file open for writing. */
#ifndef MALLOW_HOSTED_FILE_WRITERS_H
#define MALLOW_HOSTED_FILE_WRITERS_H

enum file_writers {
	FILE_WRITERS_NONE,
	FILE_WRITERS_SOME,
	FILE_WRITERS_UNKNOWN,
};

/*
 * Asks the kernel for a read lease on the file. It grants one only if nobody has the file open or
 * mapped for writing, in any process or container, ourselves included: a pid cannot tell that. Not
 * every file system grants leases, and only the file's owner may ask: unknown.
 */
enum file_writers file_writers_find(int fd);

#endif
