/*
 * The tables of the processes that `mallow live` started, kept open beside them: memory that is
 * there as long as somebody has it open. So the table of a process that was killed, and could not
 * ask for a report any more, is not lost with it.
 *
 * Each process sends its table's descriptor to a socket when it begins, for which a thread waits.
 * The reports of one that has closed its standard error come there, too, and are written to that of
 * `mallow live`: ls and all that ends by gnulib's close_stdout() have none any more at their end.
 */
#ifndef MALLOW_CLI_LIVE_WATCH_H
#define MALLOW_CLI_LIVE_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "hosted/err.h"

struct live_watch;

/* Before the first process is started. */
struct err *live_watch_start(struct live_watch **ret);

/* The socket's path, as processes learn it. */
const char *live_watch_path(const struct live_watch *watch);

/*
 * To the `mallow live` that started this process or what it belongs to: a report, to be written to
 * its standard error. false: there is none (any more), or no memory.
 */
bool live_watch_hand_over(const char *report, size_t size);

/*
 * When they have ended: calls lost with the table of each process that could not end as it should.
 * *any: there was a process at all. Frees the watch.
 */
void live_watch_end(struct live_watch *watch, void (*lost)(void *argument, int fd), void *argument,
		    bool *any);

#endif
