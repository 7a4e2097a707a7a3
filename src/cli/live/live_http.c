#include "cli/live/live_http.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "cli/cli.h"
#include "cli/options/access_options.h"
#include "cli/serve/serving.h"
#include "hosted/net/socket_place.h"

#define PORT 9464 /* unless said; 9090 is Prometheus' own */

struct live_http {
	struct profile_source source;
	struct socket_place place;
	struct buf token;
	struct catalog *catalog;
	struct http_server *server;
};

void live_http_stop(struct live_http *http)
{
	if (!http)
		return;
	http_stop(http->server);
	catalog_destroy(http->catalog);
	buf_deinit(&http->token);
	free(http);
}
CLEANUP_DEFINE(struct live_http *, live_http_stop);

/*
 * Starts the server's threads with all signals blocked: another thread waits for those of the
 * program, and the program shall find SIGPIPE as it was. Nor does it inherit the limit of
 * descriptors, which the server raises.
 */
static struct err *start_quietly(const struct http_options *options, struct live_http *http)
{
	struct rlimit limit;
	bool limited = getrlimit(RLIMIT_NOFILE, &limit) == 0;
	sigset_t all, before;
	struct err *err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = http_start(options, http->catalog, &http->server);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (limited)
		setrlimit(RLIMIT_NOFILE, &limit);
	return err;
}

int live_http_start(const struct command *command, const struct options *options,
		    const struct live_http_ids *ids, struct live_profile *profile,
		    struct live_http **ret)
{
	const char *place_text = options->values[ids->http];
	cleanup(live_http_stop_at) struct live_http *http = NULL;
	struct http_options wanted = {.timeout_s = SERVING_TIMEOUT_S};
	struct err *err;
	int status;

	*ret = NULL;
	if (!place_text)
		return CLI_OK;
	http = calloc(1, sizeof(*http));
	if (!http)
		return cli_report_err(err_no_memory());
	err = socket_place_parse(place_text, PORT, &http->place);
	if (err)
		return cli_report_err(err_prefix(err, "--http"));
	http->source = (struct profile_source){profile, live_profile_look};
	wanted.interface = http->place.host;
	wanted.port = http->place.port;
	if (!trust_option(command, options, ids->insecure, ids->allow_user, &wanted.trust))
		return CLI_USAGE;
	if (!token_option(options, ids->token_file, &http->token, &wanted.token, &status))
		return status;
	err = catalog_create(&(struct catalog_options){.max_open = 1, .profiles = &http->source},
			     &http->catalog);
	if (!err)
		err = start_quietly(&wanted, http);
	if (err)
		return cli_report_err(err);
	cli_error(CLI_OK, "%s/metrics and %s/debug/pprof/heap say what is live",
		  http_address(http->server), http_address(http->server));
	*ret = steal(&http);
	return CLI_OK;
}
