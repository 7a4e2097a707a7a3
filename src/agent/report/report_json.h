/* Writes a report as JSON, in one line, value by value. Commas are put where they are needed. */
#ifndef MALLOW_AGENT_REPORT_REPORT_JSON_H
#define MALLOW_AGENT_REPORT_REPORT_JSON_H

#include "agent/report/report_writer.h"

/* c: '{' or '['; name NULL: in an array, or outermost. */
void report_json_open(struct report_writer *writer, const char *name, char c);
void report_json_close(struct report_writer *writer, char c);
void report_json_number(struct report_writer *writer, const char *name, uint64_t number);
/* text NULL: null. A byte that is not UTF-8 becomes U+FFFD: names of threads may be cut. */
void report_json_text(struct report_writer *writer, const char *name, const char *text);
void report_json_hex(struct report_writer *writer, const char *name, uint64_t number, int digits);

#endif
