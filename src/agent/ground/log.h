/*
 * Lines for the person who runs the program: "mallow: …". An error always goes to stderr, and also
 * to LOGFILE if there is one. Other lines depend on LOG, and go to LOGFILE, or else to stderr. A
 * line is written by one system call. If the program has made stderr another file, nothing is
 * written there.
 *
 * LOG=trace logs each chunk that is written, debug also slots and settings, info where a recording
 * begins and ends, warn what it may lack.
 *
 * A line is started, filled and ended by one thread. If several threads do so at once, text may be
 * lost: a line is for people, and not worth a lock.
 */
#ifndef MALLOW_AGENT_GROUND_LOG_H
#define MALLOW_AGENT_GROUND_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "settings/settings.h"

/* Notes what stderr is. Before the settings are read. */
void log_init(void);

/* Whether a line of that level (not an error) would be written. Asked if it is work to make. */
bool log_wants(enum setting_log level);

void log_start(enum setting_log level);
void log_string(const char *string); /* hidden characters escaped: base/shown_text.h */
void log_number(uint64_t number);
void log_error_number(int number); /* ": No space left on device" */
void log_end(void);

/* Whether stderr is what it was when the program began. */
bool log_stderr_is_own(void);

/* Writes a whole line at once. */
void log_line(enum setting_log level, const char *string);

#endif
