/*
 * The tables of the processes that `mallow live` started, kept open beside them: memory that is
 * there as long as somebody has it open. So the table of a process that was killed, and could not
 * ask for a report any more, is not lost with it.
 *
 * Processes say in the registry (run_registry.h) where their tables are; a thread waits for that.
 */
#ifndef MALLOW_CLI_LIVE_WATCH_H
#define MALLOW_CLI_LIVE_WATCH_H

#include <stdbool.h>

#include "hosted/err.h"

struct live_watch;

/* Before the first process is started. */
struct err *live_watch_start(const char *registry, struct live_watch **ret);

/*
 * When they have ended: calls lost with the table of each process that was killed. *any: there was
 * a process at all. Frees the watch.
 */
void live_watch_end(struct live_watch *watch, void (*lost)(void *argument, int fd), void *argument,
		    bool *any);

#endif
