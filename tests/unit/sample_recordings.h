/* Recordings that between them hold every record and chunk of the format: to damage and to fuzz. */
#ifndef MALLOW_TESTS_SAMPLE_RECORDINGS_H
#define MALLOW_TESTS_SAMPLE_RECORDINGS_H

#include "trace_writer.h"

struct sample_recording {
	const char *name;
	void (*write)(struct trace_writer *writer); /* initialises it */
};

extern const struct sample_recording sample_recordings[];
extern const unsigned int sample_recording_count;

#endif
