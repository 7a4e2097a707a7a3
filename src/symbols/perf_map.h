/*
 * Names of code that a program made at run time (JIT). Such programs list it for perf in the file
 * /tmp/perf-PID.map: one line for each function, "START SIZE NAME", with both numbers in
 * hexadecimal.
 *
 * The file grows while the program runs. Code may be dropped and its memory used again, so where
 * entries overlap, the last one in the file counts.
 */
#ifndef MALLOW_SYMBOLS_PERF_MAP_H
#define MALLOW_SYMBOLS_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hosted/arena.h"
#include "hosted/err.h"

/* A position in code, and what the file says about it. */
struct perf_map_place {
	uint64_t address;
	const char *name; /* NULL: unknown; else in the arena */
	uint64_t offset;  /* from the function's start */
};

/* When the program ran, CLOCK_REALTIME. Another program may have had the same pid. */
struct perf_map_time {
	int64_t from_ns;
	int64_t until_ns; /* INT64_MAX: not known, or it still runs */
	uid_t user;       /* whose file it must be */
};

/*
 * Fills in name and offset of places, which are sorted by address and have no names yet. Reads the
 * file once, by blocks of 64 KiB, and keeps only the names that it finds. A file is ignored if it
 * is missing, no regular file, a link, another user's (anyone can write to /tmp), larger than 256
 * MiB, or was not written while the program ran; a line if it has 4,096 bytes or more. The only
 * error: no memory.
 */
struct err *perf_map_name(const char *path, const struct perf_map_time *time, struct arena *arena,
			  struct perf_map_place *places, size_t count);

#endif
