/* The secret that clients of a server must know: from an option, a file or the environment. */
#ifndef MALLOW_CLI_TOKEN_OPTION_H
#define MALLOW_CLI_TOKEN_OPTION_H

#include "cli/options.h"
#include "hosted/buf.h"

#define TOKEN_VARIABLE "MALLOW_TOKEN"

#define TOKEN_OPTION                                                                               \
	{                                                                                          \
		.name = "token", .value = "TOKEN",                                                 \
		.text = "serve only who knows it: 'Authorization: Bearer TOKEN', or the cookie "   \
			"mallow_token. Lists of processes show it to everybody: rather use "       \
			"--token-file, or " TOKEN_VARIABLE " in the environment"                   \
	}
#define TOKEN_FILE_OPTION                                                                          \
	{                                                                                          \
		.name = "token-file", .value = "FILE",                                             \
		.text = "the same, with the token in a file"                                       \
	}

/*
 * token, file: the ids of the two options. *ret: the token, which lies in room, in options or in
 * the environment; NULL: none was given. false: it is no valid token, an error was printed, and
 * *status is the command's exit status.
 */
bool token_option(const struct command *command, const struct options *options, int token, int file,
		  struct buf *room, const char **ret, int *status);

#endif
