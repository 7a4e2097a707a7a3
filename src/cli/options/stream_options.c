#include "cli/options/stream_options.h"

#include <stdlib.h>

#include "cli/cli.h"
#include "cli/options/setting_options.h"
#include "cli/options/access_options.h"
#include "stream/link/token.h"

static void say_line(void *argument, const char *line)
{
	(void)argument;
	cli_error(CLI_OK, "%s", line);
}

struct err *stream_options_key(const char *file, struct link_key *ret)
{
	const char *token = token_variable();

	if (file)
		return token_file_read(file, ret);
	if (token && *token)
		return err_prefix(token_key(token, ret), TOKEN_VARIABLE);
	*ret = (struct link_key){0};
	return NULL;
}

int stream_options_read(const struct options *options, struct stream_options *ret)
{
	struct stream_options wanted = {
		.only = setting_options_value(options, SETTING_STREAM_ONLY),
		.sender =
			{
				.connect = setting_options_word(options, SETTING_CONNECT),
				.listen = setting_options_word(options, SETTING_LISTEN),
				.announce = setting_options_value(options, SETTING_BROADCAST),
				.insecure = setting_options_value(options, SETTING_INSECURE),
				.say = say_line,
			},
	};
	struct err *err;

	wanted.wanted = wanted.sender.connect || wanted.sender.listen || wanted.sender.announce;
	*ret = wanted;
	if (!wanted.wanted && wanted.only)
		return cli_error(CLI_USAGE,
				 "--stream-only keeps nothing here: say where to with --stream, or "
				 "--listen or --announce");
	if (!wanted.wanted)
		return CLI_OK;
	err = stream_options_key(setting_options_word(options, SETTING_TOKEN_FILE),
				 &ret->sender.key);
	return cli_report_err(err);
}
