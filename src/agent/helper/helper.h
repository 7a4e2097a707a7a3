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
#ifndef MALLOW_AGENT_HELPER_HELPER_H
#define MALLOW_AGENT_HELPER_HELPER_H

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

/*
 * Starts the tool that sends the recording (`mallow stream-recording`), where there is no
 * `mallow run` to do so.
 *
 *   program ──clone──► keeper ──vfork, exec──► helper
 *                      ends at once            goes on without a parent
 *
 * The helper reads the recording by its descriptor, and sends the rest after the program's end. So
 * nobody may wait for it who shares the program's memory, which would then not be given back. Its
 * parent is the keeper, which ends as soon as the helper has been executed; then init adopts it,
 * and the program's wait() never sees it. Only a program that adopts orphans itself
 * (PR_SET_CHILD_SUBREAPER, or process 1 of a container) meets it when it ends.
 *
 * The helper has a session of its own, so that Ctrl-C ends the program and the rest is still sent.
 * It closes all files of the program but standard error, where messages go.
 *
 * Starts it for the recording that has just been opened. The caller waits until the kernel has
 * executed it, about a millisecond. If it cannot be started, a line says so, and the recording
 * stays where it is. In a signal bracket, by the one thread that begins a recording.
 */
void stream_helper_start(void);

#endif
