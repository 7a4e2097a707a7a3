/*
 * What all subcommands share: exit statuses, and the one way in which an error becomes a line on
 * stderr. Only files of this room and the server print.
 */
#ifndef MALLOW_CLI_CLI_H
#define MALLOW_CLI_CLI_H

#include "hosted/err.h"

enum cli_status {
	CLI_OK = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_CANNOT_RUN = 126, /* as shells say: found, but not executable */
	CLI_NOT_FOUND = 127,
};

/*
 * Prints "mallow: message" on stderr, always one line: control characters of the message are
 * shown as \xNN. Returns status, so that a command can end with `return cli_error(…)`.
 */
int cli_error(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for an error, which it destroys; CLI_OK for NULL, else CLI_FAILED. */
int cli_report_err(struct err *err);

#endif
