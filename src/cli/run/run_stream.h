/*
 * Sends the recordings of `mallow run` and the tables of `mallow live` while they are made. Threads
 * of this process do it.
 */
#ifndef MALLOW_CLI_RUN_RUN_STREAM_H
#define MALLOW_CLI_RUN_RUN_STREAM_H

#include <sys/types.h>

#include "cli/run/run_registry.h"
#include "cli/options/stream_options.h"

struct run_stream;

/*
 * Begins. registry: of `mallow run`, whose recordings are found there, borrowed; NULL:
 * run_stream_add() is called. *ret NULL: nothing is to be sent. The exit status, and an error was
 * printed, unless it is CLI_OK. To be called before there is a child.
 */
int run_stream_start(const struct options *options, struct run_registry *registry,
		     struct run_stream **ret);

/* Whether recordings are in memory alone. Accepts NULL. */
bool run_stream_only(const struct run_stream *stream);

/* Adds the live table of a process, 0: of unknown number. fd stays the caller's. */
void run_stream_add(struct run_stream *stream, int fd, pid_t pid);

/*
 * The program has ended, and so has the registry: opens what it has recorded. After that the files
 * may be replaced. Accepts NULL.
 */
void run_stream_collect(struct run_stream *stream);

/*
 * Waits until all has arrived, or nobody comes for it, or Ctrl-C, and says what became of it. Frees
 * the stream. Accepts NULL.
 */
void run_stream_end(struct run_stream *stream);

#endif
