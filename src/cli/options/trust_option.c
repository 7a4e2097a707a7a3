#include "cli/options/trust_option.h"

#include <pwd.h>
#include <stdint.h>
#include <string.h>

#include "cli/cli.h"

bool trust_option(const struct command *command, const struct options *options, int insecure,
		  int allow_user, struct socket_trust *ret)
{
	const char *text = options->values[allow_user];
	struct socket_trust trust = {.all = options->values[insecure] != NULL,
				     .has_user = text != NULL};
	const struct passwd *user = text ? getpwnam(text) : NULL;
	uint64_t number;

	if (user) {
		trust.user = user->pw_uid;
	} else if (text && (!*text || text[strspn(text, "0123456789")])) {
		cli_error(CLI_USAGE, "--allow-user: there is no user '%s'", text);
		return false;
	} else if (text) {
		if (!options_number(command, options, allow_user, 0, 0, &number))
			return false;
		if (number >= UINT32_MAX) {
			cli_error(CLI_USAGE, "--allow-user: '%s' is no user's number", text);
			return false;
		}
		trust.user = (uid_t)number;
	}
	*ret = trust;
	return true;
}
