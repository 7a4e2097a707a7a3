/*
 * Keeps the tables of the processes below `mallow live` open. A table is memory that exists as long
 * as somebody has it open. So `mallow live` can make reports that a process cannot: after it was
 * killed, or when its helper failed.
 *
 *   process ──its table, when it begins──► socket ──► thread: keeps tables, makes reports
 *           ──"make a report"───────────►
 *   helper  ──a report──────────────────►              prints it
 *
 * If the process has closed its standard error, its helper sends the report to `mallow live`, which
 * prints it. ls closes it at its end, as all programs with gnulib's close_stdout() do.
 */
#ifndef MALLOW_CLI_LIVE_LIVE_WATCH_H
#define MALLOW_CLI_LIVE_LIVE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/run/run_child.h"
#include "hosted/err.h"
#include "trace/registry.h"

struct live_watch;

/* Makes a report of a table. asked: REGISTRY_MAKE or one of the messages after it. */
typedef void live_watch_report(void *argument, int table, enum registry_kind asked);

/* A process (0: of unknown number) has begun a table. It stays open as long as the watch needs it.
 */
typedef void live_watch_opened(void *argument, int table, pid_t pid);

/*
 * To be called before the first process is started. make and opened (which may be NULL) are called
 * by one thread, and never after live_watch_end().
 */
struct err *live_watch_start(live_watch_report *make, live_watch_opened *opened, void *argument,
			     struct live_watch **ret);

/* For the program: the value of MALLOW_REGISTRY, and the descriptor that run_child() hands on. */
const char *live_watch_variable(const struct live_watch *watch);
int live_watch_inherited(const struct live_watch *watch);

/*
 * Sends a report to the `mallow live` above this process, which writes it to its standard error.
 * *none: there is no `mallow live`.
 */
struct err *live_watch_hand_over(const char *report, size_t size, bool *none);

/*
 * To be called when the program has ended; end NULL: there was none. Makes the reports that are
 * still owed, and frees the watch. *any: at least one process sent its table.
 */
void live_watch_end(struct live_watch *watch, const struct run_child_end *end, bool *any);

#endif
