/*
 * Lines for the person who runs the program: "mallow: …" on stderr or LOGFILE. Faults, at level
 * error, are always printed; everything else as LOG says. A line is built on the stack and
 * written by one system call; nothing is written once stderr is no longer the file it was.
 *
 * A line is started, filled and ended by one thread. Lines of several threads at once may lose
 * text; they are for people, and no lock is worth one here.
 */
#ifndef MALLOW_AGENT_LOG_H
#define MALLOW_AGENT_LOG_H

#include <stdint.h>

#include "settings/settings.h"

/* After the settings are read. */
void log_init(void);

void log_start(enum setting_log level);
void log_string(const char *string);
void log_number(uint64_t number);
void log_error_number(int number); /* ": No space left on device" */
void log_end(void);

/* All in one, for a line without parts. */
void log_line(enum setting_log level, const char *string);

#endif
