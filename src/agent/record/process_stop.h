/* An error ends the recording before the program ends. */
#ifndef MALLOW_AGENT_RECORD_PROCESS_STOP_H
#define MALLOW_AGENT_RECORD_PROCESS_STOP_H

#include "agent/record/file.h"
#include "base/compiler.h"
#include "trace/format.h"

/* slot_flush_all(), which lies above this file. Set before the first recording begins. */
extern bool (*process_stop_flush)(void) hidden;

/* Stops the recording for good: prints one line, and counts every later event under this reason. */
void process_stop(enum trace_loss reason, const char *text);

/* Stops for the reason that a file operation returned; does nothing for FILE_OK and FILE_FULL. */
void process_stop_for_file(enum file_result result);

#endif
