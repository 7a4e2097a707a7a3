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
 * and the program's wait() never sees it (report_helper.h says why there is a keeper). Only a
 * program that adopts orphans itself (PR_SET_CHILD_SUBREAPER, or process 1 of a container) meets it
 * when it ends.
 *
 * The helper has a session of its own, so that Ctrl-C ends the program and the rest is still sent.
 * Of the program's files it keeps standard error alone, for messages.
 */
#ifndef MALLOW_AGENT_HELPER_STREAM_HELPER_H
#define MALLOW_AGENT_HELPER_STREAM_HELPER_H

/*
 * Starts it for the recording that has just been opened. The caller waits until the kernel has
 * executed it, about a millisecond. If it cannot be started, a line says so, and the recording
 * stays where it is. In a signal bracket, by the one thread that begins a recording.
 */
void stream_helper_start(void);

#endif
