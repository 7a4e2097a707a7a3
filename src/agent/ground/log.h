/*
 * Lines for the person who runs the program: "mallow: …". Faults, at level error, always go to
 * stderr, and to LOGFILE if there is one; everything else only as LOG says, to LOGFILE or else to
 * stderr. A line is written by one system call; nothing is written to stderr once it is no longer
 * the file it was.
 *
 * LOG=trace says each chunk that is written, debug also slots and settings, info where a recording
 * begins and ends, warn what it may lack.
 *
 * A line is started, filled and ended by one thread. Lines of several threads at once may lose
 * text; they are for people, and no lock is worth one here.
 */
#ifndef MALLOW_AGENT_GROUND_LOG_H
#define MALLOW_AGENT_GROUND_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "settings/settings.h"

/* After the settings are read. */
void log_init(void);

/* Whether a line of that level, no fault, would be written: where making it takes some doing. */
bool log_wants(enum setting_log level);

void log_start(enum setting_log level);
void log_string(const char *string);
void log_number(uint64_t number);
void log_error_number(int number); /* ": No space left on device" */
void log_end(void);

/* Whether stderr is what it was when the program began. */
bool log_stderr_is_own(void);

/* All in one, for a line without parts. */
void log_line(enum setting_log level, const char *string);

#endif
