/* A recording in memory instead of a file: for tests and fuzzers. */
#ifndef MALLOW_ANALYSIS_RECORDING_MEMORY_H
#define MALLOW_ANALYSIS_RECORDING_MEMORY_H

#include <stddef.h>

#include "analysis/recording.h"

/* As recording_open(). data may be freed afterwards. name stands for the path. */
struct err *recording_open_memory(const char *name, const void *data, size_t size,
				  unsigned int needs, struct recording **ret);

#endif
