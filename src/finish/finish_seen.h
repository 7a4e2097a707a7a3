/*
 * What `mallow run` saw of a program from outside is added to its recording, before that is loaded
 * for the last time: samples of its memory, and how and when it ended. docs/trace-format.md,
 * section 4.4.
 */
#ifndef MALLOW_FINISH_FINISH_SEEN_H
#define MALLOW_FINISH_FINISH_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"
#include "hosted/vec.h"
#include "trace/format.h"

/* Memory of the process without the agent's, in bytes, as the record has it. */
struct seen_sample {
	uint64_t monotonic_ns;
	uint64_t virtual_size, resident, anonymous, file, shared, swap;
};

struct seen {
	VEC(struct seen_sample) samples;
	uint64_t peak; /* VmHWM, or what wait said; 0: not known */
	enum trace_peak_source peak_source;
	uint64_t ended_ns; /* when it ended, CLOCK_MONOTONIC; 0: not known */
	bool foreign;      /* it had another user than we, at a sample at least */
	bool waited;       /* how it ended is known: */
	int wait_status;   /* as waitpid() says it */
	/* Programs of the run that were executed and not recorded: "why\npath". Borrowed. */
	const char *const *started;
	size_t started_count;
};

/*
 * Adds it at the end of the file. fd: open for reading and writing, borrowed; name: for messages.
 * Nothing is added unless the process is known to have ended, to a finished recording, and if its
 * clock is not this machine's. A recording that ended by itself keeps its end. On failure the
 * recording is as it was.
 */
struct err *finish_seen(const char *name, int fd, const struct seen *seen);

#endif
