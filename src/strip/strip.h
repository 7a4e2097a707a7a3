/*
 * Makes a smaller recording of one: blocks that were freed are in sums only, their stacks' totals
 * stay exact, and so does the peak. docs/trace-format.md, section 4.6.
 *
 *	strip.c            what is refused, the header, the order of the steps
 *	strip_choice.c     two walks through all events: which blocks stay, what the others add up
 *to strip_stream.c     copies a stream without the events of the other blocks strip_record.c one
 *record of section 4.2, whole or anonymous strip_sums.c       the sums, as culled records
 *
 * Events are read three times, and none is kept: memory is that of stacks, sites, what is live at a
 * time, and a bit for each block and for each event.
 */
#ifndef MALLOW_STRIP_STRIP_H
#define MALLOW_STRIP_STRIP_H

#include "analysis/filter/moment.h"
#include "analysis/names/anonymous.h"
#include "analysis/recording.h"
#include "hosted/buf.h"

struct strip_options {
	uint64_t threshold_ns; /* blocks that lived shorter go; TRACE_CULL_ALL: all that were freed
				*/
	const struct moment *from, *to; /* a part; NULL: the recording's start, its end */
	enum anonymity anonymity;
	/* A symbols chunk's payload; NULL: that of the recording. */
	const struct buf *names;
	recording_progress *progress; /* may be NULL */
	void *argument;
};

struct strip_result {
	uint64_t size_before, size_after; /* bytes of the files */
	uint64_t kept;                    /* blocks */
	uint64_t culled, culled_bytes;    /* blocks that are in sums only, and their bytes */
	bool counted;                     /* the numbers of blocks are known: some were to go */
	bool finished, compressed;        /* the recording was */
	bool running;                     /* it is being written: this is what was there */
};

/* Writes it to out. The recording at path stays as it is. An error: also what cannot be stripped.
 */
struct err *strip_recording(const char *path, const struct strip_options *options, struct buf *out,
			    struct strip_result *ret);

#endif
