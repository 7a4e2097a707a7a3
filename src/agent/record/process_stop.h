/* A fault ends the recording before the program does. */
#ifndef MALLOW_AGENT_RECORD_PROCESS_STOP_H
#define MALLOW_AGENT_RECORD_PROCESS_STOP_H

#include "agent/record/file.h"
#include "trace/format.h"

/* Stops for good: says so in one line, and counts every later event under this reason. */
void process_stop(enum trace_loss reason, const char *text);

/* The file operation that failed decides how the recording stops. */
void process_stop_for_file(enum file_result result);

#endif
