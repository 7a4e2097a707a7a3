/*
 * Names of code that a program makes at run time, from the file in which such programs list it
 * for perf: /tmp/perf-PID.map, a line a function, "START SIZE NAME", both numbers hexadecimal.
 *
 * The file grows while the program runs, and code is dropped and its place used again: where
 * entries overlap, the later one in the file counts.
 */
#ifndef MALLOW_SYMBOLS_PERF_MAP_H
#define MALLOW_SYMBOLS_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/arena.h"
#include "hosted/err.h"

/* A code position, and what the file says of it. */
struct perf_map_place {
	uint64_t address;
	const char *name; /* NULL: nothing; else in the arena */
	uint64_t offset;  /* from the function's start */
};

/* When the program that wrote the file ran, CLOCK_REALTIME: a pid is used again. */
struct perf_map_time {
	int64_t from_ns;
	int64_t until_ns; /* INT64_MAX: not known, or it still runs */
};

/*
 * Fills in the names of places, which are sorted by address and have none yet. One pass over the
 * file, of which nothing but the names found is kept, so it may be larger than memory. A file that
 * is missing, is not regular, is not ours or root's (anyone can write to /tmp), or was not written
 * at that time names nothing. The only error: no memory.
 */
struct err *perf_map_name(const char *path, const struct perf_map_time *time, struct arena *arena,
			  struct perf_map_place *places, size_t count);

#endif
