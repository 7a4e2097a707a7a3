#include "cli/options/limit_options.h"

#include <string.h>

#include "analysis/filter/moment.h"
#include "cli/cli.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "settings/settings.h"

/* Parses bytes a second: "1M/s" or "1M". */
static bool parse_rate(const char *text, uint64_t *ret)
{
	size_t length = strlen(text);
	char size[32];

	if (length > 2 && strcmp(text + length - 2, "/s") == 0)
		length -= 2;
	if (length >= sizeof(size))
		return false;
	memcpy(size, text, length);
	size[length] = 0;
	return setting_parse_size(size, ret);
}

bool percent_option(const struct command *command, const struct options *options, size_t id,
		    uint64_t *ret)
{
	const char *text = options->values[id];

	if (!text || percent_parse(text, ret))
		return true;
	cli_error(CLI_USAGE,
		  "'%s' is no value of --%s: a percentage such as 5%% or 12.5%% is wanted", text,
		  command->body->options[id].name);
	return false;
}

static bool read_rate(const struct command *command, const struct options *options, size_t id,
		      uint64_t *ret)
{
	const char *text = options->values[id];

	if (!text || parse_rate(text, ret))
		return true;
	cli_error(CLI_USAGE,
		  "'%s' is no value of --%s: a size a second such as 64K/s or 1M/s is wanted", text,
		  command->body->options[id].name);
	return false;
}

static bool read_limit(const struct command *command, const struct options *options,
		       enum check check, uint64_t *ret)
{
	switch (check_info(check)->unit) {
	case CHECK_UNIT_BYTES:
		return options_size(command, options, check, 0, ret);
	case CHECK_UNIT_COUNT:
		return options_number(command, options, check, 0, 0, ret);
	case CHECK_UNIT_SHARE:
		return percent_option(command, options, check, ret);
	case CHECK_UNIT_RATE:
		break;
	}
	return read_rate(command, options, check, ret);
}

bool limit_options_read(const struct command *command, const struct options *options,
			size_t instead, struct check_limits *ret)
{
	cleanup(buf_deinit) struct buf names = BUF_EMPTY;
	const struct option_spec *other = &command->body->options[instead];
	bool any = options->values[instead];

	for (enum check check = 0; check < CHECKS; check++) {
		ret->has[check] = options->values[check] != NULL;
		any |= ret->has[check];
		if (!read_limit(command, options, check, &ret->most[check]))
			return false;
		buf_printf(&names, "--%s %s, ", check_info(check)->option,
			   check_info(check)->value);
	}
	buf_printf(&names, "or --%s %s", other->name, other->value);
	if (!any)
		cli_error(CLI_USAGE, "'%s' needs a limit: %s", command->name,
			  buf_string(&names) ? buf_string(&names) : "");
	return any;
}
