/* Writes one report of what a program has live to where its reports go. */
#ifndef MALLOW_CLI_LIVE_LIVE_REPORT_H
#define MALLOW_CLI_LIVE_LIVE_REPORT_H

#include "cli/options/live_options.h"

/* fd: the program's table, which stays the caller's. Writes nothing if nothing is live. */
struct err *live_report_write(const struct live_options *options, int fd);

/* The same if the program has ended or was killed. Nothing if it still runs. */
struct err *live_report_write_last(const struct live_options *options, int fd);

#endif
