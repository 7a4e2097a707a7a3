/* `mallow live --http`: answers who asks what is live now, beside the program. */
#ifndef MALLOW_CLI_LIVE_LIVE_HTTP_H
#define MALLOW_CLI_LIVE_LIVE_HTTP_H

#include "cli/live/live_profile.h"
#include "cli/options/options.h"

struct live_http;

/* The command's options that it reads, by their ids. */
struct live_http_ids {
	int http, token_file, insecure, allow_user;
};

/*
 * Listens, if --http is given. To be called before there is a child: the child inherits nothing of
 * it. *ret NULL: it is not given. The exit status, and an error was printed, unless it is CLI_OK.
 */
int live_http_start(const struct command *command, const struct options *options,
		    const struct live_http_ids *ids, struct live_profile *profile,
		    struct live_http **ret);

/* Ends all connections. Accepts NULL. */
void live_http_stop(struct live_http *http);

#endif
