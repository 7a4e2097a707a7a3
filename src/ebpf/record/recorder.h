/*
 * Records a running process: a tracer whose calls go into a recording, which is valid at every
 * moment. Belongs to one thread.
 */
#ifndef MALLOW_EBPF_RECORD_RECORDER_H
#define MALLOW_EBPF_RECORD_RECORDER_H

#include "ebpf/tracer.h"
#include "write/recording_file.h"
#include "hosted/cleanup.h"

struct recorder;

/* Where the recording goes. */
struct recorder_output {
	const char *path; /* to be created: recording_file_create() … */
	int fd;           /* … or, if path is NULL: recording_file_adopt() */
};

/*
 * Attaches to the target, which the recorder owns from now on, also on failure, and begins the
 * recording. Each call is recorded, whatever options say of sizes and samples.
 */
struct err *recorder_create(struct target *target, const struct tracer_options *options,
			    const struct recorder_output *output, struct recorder **ret);
/* Detaches. The recording stays as it is. Accepts NULL. */
void recorder_destroy(struct recorder *recorder);
CLEANUP_DEFINE(struct recorder *, recorder_destroy);

/*
 * Writes what has happened. To be called every RECORDER_STEP_MS. An error is that of the file, or
 * no memory: the recording is valid up to there.
 */
struct err *recorder_step(struct recorder *recorder);
#define RECORDER_STEP_MS 10

/* Whether the process has executed another program: this recording is over then. */
bool recorder_has_executed(const struct recorder *recorder);

/*
 * Detaches, writes what is still there, and ends the recording. ended: the process has; else it
 * goes on. Symbols can be found until recorder_destroy().
 */
struct err *recorder_end(struct recorder *recorder, bool ended);

/* In place of recorder_end(), after an error of recorder_step(): the recording says that, too. */
void recorder_stop(struct recorder *recorder);

/* All pointers live as long as the recorder. */
const struct tracer *recorder_tracer(const struct recorder *recorder);
const struct recording_file *recorder_file(const struct recorder *recorder);

#endif
