/*
 * The bytes of a recording by the path that a user gave: a recording's own, a core dump's, or those
 * that a file of another profiler becomes (src/import). A core dump has the live table of its
 * program in it; or, if that was being recorded (mallow run), the path of the recording, which is
 * opened in its place.
 */
#ifndef MALLOW_ANALYSIS_RECORDING_SOURCE_H
#define MALLOW_ANALYSIS_RECORDING_SOURCE_H

#include "coredump/coredump.h"
#include "hosted/files/byte_source.h"

/* Zeroed: closed. */
struct recording_source {
	const struct byte_source *bytes;
	const struct coredump_facts *core; /* NULL: it is no core dump */
	char *written; /* the recording that the core dump's program was writing; NULL: none */
	/* The source's own. */
	struct byte_source file;
	struct coredump *coredump;
	uint8_t *turned; /* of a big-endian recording: all of it */
	struct byte_source turned_source;
	int *fds; /* of raw dumps */
	size_t fd_count;
};

/* path is borrowed. After a failure ret is closed. The struct must not move. */
struct err *recording_source_open(const char *path, struct recording_source *ret);

/* The same for raw dumps of one process: coredump_open_raw(). */
struct err *recording_source_open_raw(const char *const *paths, size_t count,
				      struct recording_source *ret);

/* Accepts a zeroed struct. */
void recording_source_close(struct recording_source *source);

#endif
