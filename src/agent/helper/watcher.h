/*
 * `mallow live` keeps the tables of the processes that it started open. If one is killed, its table
 * is not lost, and `mallow live` reports it.
 */
#ifndef MALLOW_AGENT_HELPER_WATCHER_H
#define MALLOW_AGENT_HELPER_WATCHER_H

#include <stdbool.h>

#include "trace/live.h"

/*
 * Sends a message with the table's descriptor to `mallow live`; MALLOW_REGISTRY is its socket.
 * patient: waits for room in the socket. Returns 0, or the negative error; -ENOENT and
 * -ECONNREFUSED: nobody is there. Async-signal-safe. A process that shares a thread's storage may
 * call it, too (clone_stack.h).
 */
long watcher_tell(int fd, enum live_message message, bool patient);

#endif
