/*
 * `mallow live` keeps the tables of the processes that it started open, so that the table of one
 * that is killed is not lost with it: it reports that one itself.
 */
#ifndef MALLOW_AGENT_LIVE_WATCHER_H
#define MALLOW_AGENT_LIVE_WATCHER_H

/* Hands the table's descriptor over, if somebody wants it: MALLOW_REGISTRY is a socket then. */
void watcher_tell(int fd);

#endif
