/*
 * What all subcommands share: exit statuses, and how an error becomes a line on stderr. Only this
 * room and the server print.
 */
#ifndef MALLOW_CLI_CLI_H
#define MALLOW_CLI_CLI_H

#include "hosted/err.h"

enum cli_status {
	CLI_OK = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_UNSURE = 3,       /* `mallow check`: whether limits hold cannot be told */
	CLI_CANNOT_RUN = 126, /* as shells say: found, but not executable */
	CLI_NOT_FOUND = 127,
};

/*
 * Prints "mallow: message" on stderr. It is always one line, fit for a terminal: hidden
 * characters of the message become \xNN (base/shown_text.h). Returns status, so that a command can
 * end with `return cli_error(…)`.
 */
int cli_error(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints an error and destroys it. Returns CLI_FAILED, or CLI_OK for NULL. */
int cli_report_err(struct err *err);

#endif
