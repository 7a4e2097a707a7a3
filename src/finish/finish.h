/*
 * Finishing rewrites a recording that the agent left: names and an index are added, and the events
 * are compressed. The new file opens faster, is smaller, and does not need the program's binaries.
 * docs/trace-format.md, section 9.
 *
 * At every moment the recording's name leads to either the whole old file or the whole new one.
 * Damage and gaps of the old file are kept, so no view shows another number afterwards.
 */
#ifndef MALLOW_FINISH_FINISH_H
#define MALLOW_FINISH_FINISH_H

#include "analysis/names/symbolized.h"

enum finish_compress {
	FINISH_COMPRESS_AUTO, /* if it pays */
	FINISH_COMPRESS_ALWAYS,
	FINISH_COMPRESS_NEVER,
};

enum finish_state {
	FINISH_NEEDED,
	FINISH_RESTORE, /* finished, but compressed where it should not be, or the reverse */
	FINISH_ALREADY,
	FINISH_LIVE, /* somebody writes to it: nothing is done */
};

/* Says what is to be done about a recording. Does not load it. */
struct err *finish_inspect(const char *path, enum finish_compress compress, enum finish_state *ret);

struct finish_options {
	enum finish_compress compress;
	recording_progress *progress; /* may be NULL */
	void *argument;
};

struct finish_result {
	/* What finish_inspect() would have said. FINISH_LIVE, FINISH_ALREADY: nothing was done. */
	enum finish_state state;
	bool compressed;
	uint64_t size_before, size_after;
	uint64_t other_names; /* hard links: they still lead to the old file */
};

/*
 * Rewrites the recording at path. recording: the same one, loaded; symbolized: its names. Both are
 * NULL for FINISH_RESTORE: then names and index are copied from the old file. On failure the file
 * is as before.
 */
struct err *finish_recording(const char *path, const struct recording *recording,
			     struct symbolized *symbolized, const struct finish_options *options,
			     struct finish_result *ret);

#endif
