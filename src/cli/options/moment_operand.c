#include "cli/options/moment_operand.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/filter/moment.h"
#include "cli/cli.h"
#include "cli/options/filter_options.h"

/* *at: the '@' before the moment. NULL: there is none. false: an error was printed. */
static bool find_moment(const char *typed, const char **at)
{
	struct moment moment;

	*at = access(typed, F_OK) ? strrchr(typed, '@') : NULL;
	if (!*at || moment_parse(*at + 1, &moment))
		return true;
	cli_error(CLI_USAGE, "'%s' behind the @ of '%s' is no moment: %s is wanted", *at + 1, typed,
		  moment_allowed);
	return false;
}

bool moment_operand_parse(const char *typed, struct moment_operand *ret)
{
	const char *at;

	if (!find_moment(typed, &at))
		return false;
	ret->moment = at ? at + 1 : NULL;
	ret->path = at ? strndup(typed, (size_t)(at - typed)) : strdup(typed);
	if (ret->path)
		return true;
	cli_report_err(err_no_memory());
	return false;
}

void moment_operand_deinit(struct moment_operand *operand)
{
	free(operand->path);
	*operand = (struct moment_operand){0};
}

bool moment_operands_cut(struct options *options, const char **ret)
{
	*ret = NULL;
	for (int i = 0; i < options->operand_count; i++) {
		char *typed = options->operands[i];
		const char *at;

		if (!find_moment(typed, &at))
			return false;
		if (i && (at ? !*ret || strcmp(at + 1, *ret) != 0 : *ret != NULL)) {
			cli_error(CLI_USAGE,
				  "one moment is wanted for all recordings: --at MOMENT");
			return false;
		}
		*ret = at ? at + 1 : NULL;
		if (at)
			typed[at - typed] = 0;
	}
	return true;
}

bool moment_operands_take(const struct command *command, struct options *options)
{
	const char **values = options->values + command->body->option_count;
	const struct option_spec *specs;
	const char *moment;
	size_t count;

	if (!moment_operands_cut(options, &moment))
		return false;
	specs = filter_options(&count);
	for (size_t i = 0; moment && i < count; i++) {
		if (strcmp(specs[i].name, FILTER_OPTION_AT) != 0)
			continue;
		if (values[i]) {
			cli_error(CLI_USAGE, "@%s and --at exclude each other", moment);
			return false;
		}
		values[i] = moment;
	}
	return true;
}

bool moment_operands_refuse(const struct command *command, const struct options *options)
{
	for (int i = 0; i < options->operand_count; i++) {
		const char *typed = options->operands[i];
		struct moment_operand operand = {0};
		bool moment;

		if (!moment_operand_parse(typed, &operand))
			return false;
		moment = operand.moment && access(operand.path, F_OK) == 0;
		moment_operand_deinit(&operand);
		if (!moment)
			continue;
		cli_error(CLI_USAGE,
			  "'%s': 'mallow %s' is about whole recordings; report, diff, export, "
			  "check and serve take a moment",
			  typed, command->name);
		return false;
	}
	return true;
}
