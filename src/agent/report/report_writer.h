/*
 * Writes a report to a descriptor, in pieces of some KiB. A failure is sticky: nothing more is
 * written, and report_writer_end() returns it.
 */
#ifndef MALLOW_AGENT_REPORT_REPORT_WRITER_H
#define MALLOW_AGENT_REPORT_REPORT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/report/report_memory.h"

struct report_writer {
	int fd;
	bool failed;
	bool quoted; /* in a field of CSV: quotes are doubled (RFC 4180) */
	char last;   /* what was put last */
	char *buffer;
	size_t used;
};

/*
 * The buffer comes from `memory`, which must outlive the writer. Without memory the writer has
 * failed.
 */
void report_writer_begin(struct report_writer *writer, int fd, struct report_memory *memory);

void report_put_char(struct report_writer *writer, char c);
void report_put(struct report_writer *writer, const char *text);
/* A name: its hidden characters are written as \xNN (base/shown_text.h). */
void report_put_shown(struct report_writer *writer, const char *text);
void report_put_number(struct report_writer *writer, uint64_t number);
/* With 0x, and zeros in front up to so many digits. */
void report_put_hex(struct report_writer *writer, uint64_t number, int digits);
/* As mallow_format_size() writes it, with three digits. */
void report_put_size(struct report_writer *writer, uint64_t bytes);

/* 0, or -1: not all was written. */
int report_writer_end(struct report_writer *writer);

/* Writes a report as JSON, in one line, value by value. Commas are put where they are needed. */
/* c: '{' or '['; name NULL: in an array, or outermost. */
void report_json_open(struct report_writer *writer, const char *name, char c);
void report_json_close(struct report_writer *writer, char c);
void report_json_number(struct report_writer *writer, const char *name, uint64_t number);
/* text NULL: null. A byte that is not UTF-8 becomes U+FFFD: names of threads may be cut. */
void report_json_text(struct report_writer *writer, const char *name, const char *text);
void report_json_hex(struct report_writer *writer, const char *name, uint64_t number, int digits);

#endif
