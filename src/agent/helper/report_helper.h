/*
 * Starts reports of the live table. The agent does not make them itself: it starts the helper,
 * which is the tool (`mallow live-report`), with the table's descriptor. The program goes on
 * meanwhile.
 *
 *   program ──clone──► keeper ──vfork, exec──► helper
 *
 * Why a keeper: the end of a process that has executed another program always sends SIGCHLD, and
 * the program's wait() would see such a child. So the helper is the child of a keeper, which never
 * executes anything. It shares the program's memory, runs on a stack of its own and ends without a
 * signal, and wait() passes it by.
 *
 * A program's limits, sandboxes and namespaces may prevent either from starting, or the helper from
 * ending well. Then `mallow live`, which has the table, is asked for the report by whoever notices
 * first. That is mostly the keeper, which has closed all other descriptors and so has room for a
 * socket. If there is no `mallow live`, or it cannot be asked, a line says that there is no report.
 */
#ifndef MALLOW_AGENT_HELPER_REPORT_HELPER_H
#define MALLOW_AGENT_HELPER_REPORT_HELPER_H

#include <stdbool.h>

#include "base/compiler.h"

enum helper_sort {
	HELPER_SORT_DEFAULT, /* as the settings say */
	HELPER_SORT_SIZE,
	HELPER_SORT_COUNT,
};

/*
 * Starts one report. last: the one at the process's end, whose outcome is noted in the table.
 * false: not now, because as many as may run at once do so, or another thread is starting one; try
 * again later. Async-signal-safe, also in a signal bracket.
 */
bool helper_start(enum helper_sort sort, bool last);

/*
 * Runs `mallow export --to format` for the table, with `output` as its standard output, and waits
 * until it has ended. false: it failed. Not for signal handlers.
 */
bool helper_export(const char *format, int output);

/* Reaps keepers that have ended, which are zombies until then. In a signal bracket. */
void helper_reap(void);

/* Waits until all keepers have ended, some seconds at most. In a signal bracket. */
void helper_wait(void);

/* In a child: forgets the parent's keepers. */
void helper_forget(void);

#endif
