/* What a core dump says about itself, for all reports of it. */
#ifndef MALLOW_REPORT_VIEWS_CORE_FACTS_H
#define MALLOW_REPORT_VIEWS_CORE_FACTS_H

#include "analysis/recording.h"
#include "hosted/json_writer.h"

/*
 * Writes lines, indented by two columns: whose table it is, if not the process's own, and what of
 * it is missing. Nothing if the recording is of no core dump.
 */
void core_facts_put(struct buf *buf, const struct recording_facts *facts);

/* Writes an object, or null if the recording is of no core dump. */
void core_facts_json(struct json_writer *json, const struct recording_facts *facts);

/* "ended by SIGSEGV"; for a recording of a core dump. Valid until the thread's next call. */
const char *core_facts_end(const struct recording_facts *facts);

/* "SIGSEGV", "signal 40"; NULL: the dump names no signal. */
const char *core_facts_signal(const struct recording_facts *facts);

#endif
