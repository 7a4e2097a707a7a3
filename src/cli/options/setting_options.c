#include "cli/options/setting_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "hosted/cleanup.h"
#include "hosted/nearest.h"

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

static void say_mistyped(const char *entry)
{
	const size_t prefix = strlen("MALLOW_");
	const char *names[SETTING_COUNT], *near;
	auto_free char *typed = strndup(entry, strcspn(entry, "="));

	if (!typed)
		return;
	for (int i = 0; i < SETTING_COUNT; i++)
		names[i] = setting_info(i)->variable + prefix;
	near = nearest_word(typed + prefix, names, SETTING_COUNT);
	cli_error(CLI_OK, "%s is no setting of mallow, and has no effect%s%s%s", typed,
		  near ? ": did you mean MALLOW_" : "", near ? near : "", near ? "?" : "");
}

void setting_options_say_mistyped(void)
{
	for (char **entry = environ; *entry; entry++)
		if (setting_is_mistyped(*entry))
			say_mistyped(*entry);
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
