/* What a recording's program is called: for the names of files, and for people. */
#ifndef MALLOW_STREAM_DISCOVERY_PROGRAM_NAME_H
#define MALLOW_STREAM_DISCOVERY_PROGRAM_NAME_H

#include <stddef.h>

/*
 * The last part of the executable's path, as the recording says it, or as /proc does if its program
 * has not written it yet; else "program". fd: the recording. room: at least 16 bytes.
 */
void program_name(int fd, char *ret, size_t room);

#endif
