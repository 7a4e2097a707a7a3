/*
 * Records a running process: a tracer whose calls go into a recording, which is valid at every
 * moment. Belongs to one thread.
 */
#ifndef MALLOW_EBPF_RECORD_RECORDER_H
#define MALLOW_EBPF_RECORD_RECORDER_H

#include "ebpf/tracer.h"
#include "write/recording_file.h"

struct recorder;

/*
 * Attaches to the target, which the recorder owns from now on, also on failure, and creates the
 * recording: see recording_file_create(). options->record is set by this.
 */
struct err *recorder_create(struct target *target, const struct tracer_options *options,
			    const char *path, struct recorder **ret);
/* Detaches. The recording stays as it is. Accepts NULL. */
void recorder_destroy(struct recorder *recorder);

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

/* All pointers live as long as the recorder. */
const struct tracer *recorder_tracer(const struct recorder *recorder);
const struct recording_file *recorder_file(const struct recorder *recorder);

#endif
