/*
 * Writes a report of what a program has live to where its reports go: to standard error, or to the
 * file of --outfile. That file has the reports of the program itself; those of its children go to
 * FILE.<pid>.<name>. Each report is appended in one write.
 */
#ifndef MALLOW_CLI_LIVE_LIVE_REPORT_H
#define MALLOW_CLI_LIVE_LIVE_REPORT_H

#include "analysis/recording.h"
#include "cli/options/live_options.h"
#include "hosted/buf.h"

/*
 * The variable by which the helper knows the program that `mallow live` started: its parent has
 * this process id.
 */
#define LIVE_OUTPUT_STARTER "MALLOW_STARTER"

/*
 * What reports call the process: the name of its first thread, and if that is no name of the
 * program, as node's MainThread, the file name of the program before it (free()). NULL: no memory.
 */
char *live_output_name(const struct recording_facts *facts);

/* Checks whether reports can be written to outfile, before there are any. */
struct err *live_output_check(const char *outfile);

/*
 * Writes one report. fd: the program's table, which stays the caller's. Writes nothing if nothing
 * is live.
 */
struct err *live_report_write(const struct live_options *options, int fd);

/* The same if the program has ended or was killed. Nothing if it still runs. */
struct err *live_report_write_last(const struct live_options *options, int fd);

#endif
