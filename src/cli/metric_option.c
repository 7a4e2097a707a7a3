#include "cli/metric_option.h"

#include "cli/cli.h"
#include "hosted/nearest.h"

bool metric_option(const struct command *command, const struct options *options, size_t id,
		   enum metric *ret)
{
	const char *typed = options->values[id];
	const char *names[METRIC_COUNT];
	const char *near;

	*ret = METRIC_PEAK;
	if (!typed || metric_parse(typed, ret))
		return true;
	for (int i = 0; i < METRIC_COUNT; i++)
		names[i] = metric_info(i)->name;
	near = nearest_word(typed, names, METRIC_COUNT);
	if (near)
		cli_error(CLI_USAGE, "'%s' is no value of --%s: did you mean '%s'?", typed,
			  command->body->options[id].name, near);
	else
		cli_error(CLI_USAGE, "'%s' is no value of --%s: one of%s is wanted", typed,
			  command->body->options[id].name, metric_names);
	return false;
}
