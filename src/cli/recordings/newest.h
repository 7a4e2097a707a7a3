/*
 * Recordings that nobody named: the newest in the working directory. Only those that belong to the
 * user are taken by themselves: whoever else can write there could choose what is shown.
 */
#ifndef MALLOW_CLI_RECORDINGS_NEWEST_H
#define MALLOW_CLI_RECORDINGS_NEWEST_H

#include "cli/options/options.h"
#include "cli/recordings/recording_paths.h"

/*
 * Without operands: makes the newest recording here the operand, and says so. Of a run of several
 * processes that is the one with most in it. false: there is none; an error was printed.
 */
bool newest_operand(const struct command *command, struct options *options);

/*
 * The operands of diff. None: the newest recording, and behind it becomes AFTER, the one before of
 * the same program BEFORE. One: what was live in the middle of it, and at its end. Says what it
 * took. false: there are none; an error was printed.
 */
bool newest_pair(const struct command *command, struct options *options);

/* Whether the file is a recording, and the user's own. */
bool newest_is_own(const char *path);

/*
 * As recording_paths_find(), for recordings that become one. A single file stands for all of its
 * run: the recordings beside it whose processes started each other, of the same owner.
 */
struct err *newest_find_merged(const struct options *options, struct recording_paths *paths);

#endif
