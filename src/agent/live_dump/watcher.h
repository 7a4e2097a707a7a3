/*
 * `mallow live` keeps the tables of the processes that it started open, so that the table of one
 * that is killed is not lost with it: it reports that one itself.
 */
#ifndef MALLOW_AGENT_LIVE_DUMP_WATCHER_H
#define MALLOW_AGENT_LIVE_DUMP_WATCHER_H

#include <stdbool.h>

#include "trace/live.h"

/*
 * Hands the table's descriptor over, if somebody wants it: MALLOW_REGISTRY is a socket then.
 * patient: waits for room in the socket. 0, or the negative error; -ENOENT and -ECONNREFUSED:
 * nobody is there. Async-signal-safe, and also for who has only borrowed a thread's storage
 * (clone_stack.h).
 */
long watcher_tell(int fd, enum live_message message, bool patient);

#endif
