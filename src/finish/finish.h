/*
 * Finishing: a recording as the agent left it is rewritten as one that opens faster, is smaller,
 * and needs none of the files it was made from: names and an index are embedded, events are
 * compressed. docs/trace-format.md, section 9.
 *
 * The file under the recording's name is at every moment either the old one or the new one. What
 * was damaged or missing in the old one is so in the new one: no view shows another number.
 */
#ifndef MALLOW_FINISH_FINISH_H
#define MALLOW_FINISH_FINISH_H

#include "analysis/names/symbolized.h"

enum finish_compress {
	FINISH_COMPRESS_AUTO, /* where it pays */
	FINISH_COMPRESS_ALWAYS,
	FINISH_COMPRESS_NEVER,
};

enum finish_state {
	FINISH_NEEDED,
	FINISH_RESTORE, /* is finished, but stored otherwise than is asked for */
	FINISH_ALREADY,
	FINISH_LIVE, /* somebody writes to it: nothing can be done */
};

/* What is to be done about a recording; it is not loaded for that. */
struct err *finish_inspect(const char *path, enum finish_compress compress, enum finish_state *ret);

struct finish_options {
	enum finish_compress compress;
	recording_progress *progress; /* may be NULL */
	void *argument;
};

struct finish_result {
	enum finish_state
		state; /* what finish_inspect() would have said: nothing is done if live */
	bool compressed;
	uint64_t size_before, size_after;
	uint64_t other_names; /* hard links: they still lead to the old file */
};

/*
 * Rewrites the recording at path. recording: the same one, loaded; symbolized: its names. Both are
 * NULL for FINISH_RESTORE, where what is embedded is taken over. On failure the file is as before.
 */
struct err *finish_recording(const char *path, const struct recording *recording,
			     struct symbolized *symbolized, const struct finish_options *options,
			     struct finish_result *ret);

#endif
