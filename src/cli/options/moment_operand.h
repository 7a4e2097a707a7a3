/* Operands that say a moment behind the recording: "FILE", or what was live then, "FILE@10s". */
#ifndef MALLOW_CLI_OPTIONS_MOMENT_OPERAND_H
#define MALLOW_CLI_OPTIONS_MOMENT_OPERAND_H

#include "cli/options/options.h"

struct moment_operand {
	char *path;         /* owned */
	const char *moment; /* as typed, points into the argument; NULL: the whole run */
};

/*
 * A file that is called like the whole operand is meant by it. Otherwise the moment is what is
 * behind the last '@'. false: it is no moment, or no memory; an error was printed.
 */
bool moment_operand_parse(const char *typed, struct moment_operand *ret);
/* Accepts a zeroed struct. */
void moment_operand_deinit(struct moment_operand *operand);

/*
 * Takes the moments off all operands, whose words are cut: FILE stays. *ret: the moment, which must
 * be the same behind all; NULL: none is. false: an error was printed.
 */
bool moment_operands_cut(struct options *options, const char **ret);

/* The same for a command with conditions: the moment becomes the value of --at. */
bool moment_operands_take(const struct command *command, struct options *options);

/* For a command that is about whole recordings. false: a moment was given, an error was printed. */
bool moment_operands_refuse(const struct command *command, const struct options *options);

#endif
