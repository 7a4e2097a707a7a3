/*
 * The tables of the processes that `mallow live` started, kept open beside them: memory that is
 * there as long as somebody has it open. So reports can be made here that a process could not have
 * made: at the end of one that was killed, and wherever its helper failed.
 *
 *   process ──its table, when it begins──► socket ──► thread: keeps tables, makes reports
 *           ──"make a report"───────────►
 *   helper  ──a report──────────────────►              prints it
 *
 * A report is sent whole where the process has closed its standard error: ls and all that ends by
 * gnulib's close_stdout() have none any more at their end.
 */
#ifndef MALLOW_CLI_LIVE_WATCH_H
#define MALLOW_CLI_LIVE_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "hosted/err.h"
#include "trace/live.h"

struct live_watch;

/* Makes a report of the table. asked: LIVE_MESSAGE_MAKE and what follows it there. */
typedef void live_watch_report(void *argument, int table, enum live_message asked);

/* Before the first process is started. make is called by one thread, and never after the end. */
struct err *live_watch_start(live_watch_report *make, void *argument, struct live_watch **ret);

/* The socket's path, as processes learn it. */
const char *live_watch_path(const struct live_watch *watch);

/*
 * To the `mallow live` that started this process or what it belongs to: a report, to be written to
 * its standard error. *none: there is no `mallow live`.
 */
struct err *live_watch_hand_over(const char *report, size_t size, bool *none);

/*
 * When they have ended: what is owed is reported. *any: there was a process at all. Frees the
 * watch.
 */
void live_watch_end(struct live_watch *watch, bool *any);

#endif
