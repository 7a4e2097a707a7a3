/*
 * Who may ask a server: those who know a secret, which is in a file or the environment, and those
 * whom it trusts without one (docs/security.md).
 */
#ifndef MALLOW_CLI_OPTIONS_ACCESS_OPTIONS_H
#define MALLOW_CLI_OPTIONS_ACCESS_OPTIONS_H

#include "cli/options/options.h"
#include "hosted/buf.h"
#include "hosted/net/socket_peer.h"

#define TOKEN_VARIABLE "MALLOW_TOKEN"

#define TOKEN_FILE_OPTION                                                                          \
	{                                                                                          \
		.name = "token-file", .value = "FILE",                                             \
		.text = "serve only who knows the token in the file: 'Authorization: Bearer "      \
			"TOKEN'. Without the option it may be in " TOKEN_VARIABLE                  \
	}

/*
 * Takes the token out of the environment, so that nothing that is started has it. To be called
 * once, before there are threads.
 */
void token_variable_take(void);
/* What was there; NULL: nothing. */
const char *token_variable(void);

/*
 * file: the id of the option. *ret: the token, which lies in room, or was in the environment; NULL:
 * none was given. false: it is no valid token, an error was printed, and *status is the command's
 * exit status.
 */
bool token_option(const struct options *options, int file, struct buf *room, const char **ret,
		  int *status);

#define ALLOW_USER_OPTION                                                                          \
	{                                                                                          \
		.name = "allow-user", .value = "USER",                                             \
		.text = "on this machine, programs of this user, too, need no token: a name or a " \
			"number. You and root need none anyway"                                    \
	}

/* insecure, allow_user: ids of options. false: there is no such user, and an error was printed. */
bool trust_option(const struct command *command, const struct options *options, int insecure,
		  int allow_user, struct socket_trust *ret);

#endif
