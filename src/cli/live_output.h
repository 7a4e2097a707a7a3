/*
 * Where reports of live allocations go: standard error, or the file of --outfile, which is the
 * program's own; its children have FILE.<pid>.<name>. Each report is appended in one write.
 */
#ifndef MALLOW_CLI_LIVE_OUTPUT_H
#define MALLOW_CLI_LIVE_OUTPUT_H

#include "analysis/recording.h"
#include "hosted/buf.h"

/* By which the helper knows the program that `mallow live` started: its parent's process id. */
#define LIVE_OUTPUT_STARTER "MALLOW_STARTER"

/* The process's name as the kernel has it, or the file name of its program (free()). NULL: no
 * memory. */
char *live_output_name(const struct recording_facts *facts);

/*
 * Whether the process has closed its standard error since it began, or has another one: then the
 * agent keeps what it starts from writing there. false where it cannot be known.
 */
bool live_output_is_hidden(const struct recording_facts *facts);

/* A file that is named in the settings, as the process names it (free()). NULL: no memory. */
char *live_output_path(const struct recording_facts *facts, const char *path);

/*
 * The file of a process's reports, opened to append. outfile: of the settings; name: of
 * live_output_name().
 */
struct err *live_output_open(const struct recording_facts *facts, const char *outfile,
			     const char *name, int *ret);

/* Whether reports could be written there, before there are any. */
struct err *live_output_check(const char *outfile);

#endif
