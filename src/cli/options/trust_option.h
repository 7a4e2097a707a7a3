/* Whom a server trusts without a token: docs/security.md. */
#ifndef MALLOW_CLI_OPTIONS_TRUST_OPTION_H
#define MALLOW_CLI_OPTIONS_TRUST_OPTION_H

#include "cli/options/options.h"
#include "hosted/net/socket_peer.h"

#define ALLOW_USER_OPTION                                                                          \
	{                                                                                          \
		.name = "allow-user", .value = "USER",                                             \
		.text = "on this machine, programs of this user, too, need no token: a name or a " \
			"number. You and root need none anyway"                                    \
	}

/* insecure, allow_user: the ids of the two options. false: there is no such user, as was printed.
 */
bool trust_option(const struct command *command, const struct options *options, int insecure,
		  int allow_user, struct socket_trust *ret);

#endif
