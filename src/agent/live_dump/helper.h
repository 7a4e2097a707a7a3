/*
 * Reports of the live table: the agent never makes any. It starts the helper, which is the tool
 * (`mallow live-report`), with the table's descriptor, and goes on.
 *
 *   program ──clone──► keeper ──vfork, exec──► helper
 *
 * An exec makes SIGCHLD the signal of a process's end, and a child of the program one that its
 * wait() sees. So the helper is the child of a keeper, which never executes anything: it shares the
 * program's memory on a stack of its own, ends without a signal, and wait() passes it by.
 *
 * A program's limits, sandboxes and namespaces may keep either from starting, and the helper from
 * ending well. Then `mallow live`, which has the table, is asked for the report: by whoever sees
 * it first, mostly the keeper, which has no descriptors open and so room for a socket. Where
 * there is no `mallow live`, or it cannot be asked, a line says that there is no report.
 */
#ifndef MALLOW_AGENT_LIVE_DUMP_HELPER_H
#define MALLOW_AGENT_LIVE_DUMP_HELPER_H

#include <stdbool.h>

#include "base/compiler.h"

enum helper_sort {
	HELPER_SORT_DEFAULT, /* as the settings say */
	HELPER_SORT_SIZE,
	HELPER_SORT_COUNT,
};

/*
 * The environment of the tool when the agent starts it: the MALLOW_ variables, and what it needs of
 * the program's as that was at the start. Not our LD_PRELOAD entry, nor anybody's. Ended by NULL.
 * Set by life/environment.c before the first start.
 */
extern char *const *helper_environment hidden;

/*
 * Starts one report; last: the one at the process's end, of which the table tells what came of it.
 * false: not now, because as many as may run at once do so already, or another
 * thread is starting one; the caller may come again. Async-signal-safe, also in a signal bracket.
 */
bool helper_start(enum helper_sort sort, bool last);

/*
 * Runs `mallow export --to format` for the table as it is, with that descriptor as its standard
 * output, and waits until it has ended. false: it failed. Not for signal handlers.
 */
bool helper_export(const char *format, int output);

/* Those that have ended are zombies until somebody looks. In a signal bracket. */
void helper_reap(void);

/* Waits until all that were started have ended, some seconds at most. In a signal bracket. */
void helper_wait(void);

/* A child has no helpers yet. */
void helper_forget(void);

#endif
