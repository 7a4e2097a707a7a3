#include "cli/setting_options.h"

#include <stdlib.h>

#include "cli/cli.h"

bool setting_options_check(const struct options *options)
{
	for (int i = 0; i < SETTING_COUNT; i++) {
		const struct setting_info *info = setting_info(i);
		const char *word = options->values[i];
		uint64_t value;

		if (!word)
			continue;
		if (info->kind == SETTING_KIND_TEXT ? *word != 0 : setting_parse(i, word, &value))
			continue;
		cli_error(CLI_USAGE, "'%s' is no value of --%s: allowed is %s%s", word,
			  info->option,
			  info->kind == SETTING_KIND_BOOLEAN || info->kind == SETTING_KIND_CHOICE
				  ? "one of "
				  : "",
			  info->kind == SETTING_KIND_TEXT ? "any text but an empty one"
							  : setting_allowed(i));
		return false;
	}
	return true;
}

const char *setting_options_word(const struct options *options, enum setting setting)
{
	const char *word = options->values[setting];

	if (!word)
		word = getenv(setting_info(setting)->variable);
	return word && *word ? word : NULL;
}

uint64_t setting_options_value(const struct options *options, enum setting setting)
{
	const char *word = setting_options_word(options, setting);
	uint64_t value;

	return word && setting_parse(setting, word, &value) ? value : setting_default(setting);
}
