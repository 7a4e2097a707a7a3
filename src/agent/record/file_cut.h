/*
 * The program cuts its own recording: ftruncate(), or an open with O_TRUNC. Slots and the header
 * are mappings of the file, and a store beyond the file's end would raise SIGBUS in the program. So
 * before the call the recording stops, and private memory takes the place of these mappings.
 *
 * Another process may cut the file all the same, as may a system call in the program's own
 * assembly, or one under a seccomp filter, where the agent cannot ask which file it is.
 */
#ifndef MALLOW_AGENT_RECORD_FILE_CUT_H
#define MALLOW_AGENT_RECORD_FILE_CUT_H

#include <stdint.h>

/*
 * The program is about to cut a file to `length` bytes. path: as for openat(); NULL: the file is
 * that of the descriptor `directory`. Does nothing if it is not the recording. Any thread, any
 * signal handler, and a vfork child.
 */
void file_cut_prepare(int directory, const char *path, uint64_t length);

#endif
