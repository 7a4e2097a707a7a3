#include "cli/metric_option.h"

#include "cli/choice_option.h"

bool metric_option(const struct command *command, const struct options *options, size_t id,
		   enum metric *ret)
{
	const char *names[METRIC_COUNT];
	int metric = METRIC_PEAK;

	for (int i = 0; i < METRIC_COUNT; i++)
		names[i] = metric_info(i)->name;
	if (!choice_option(command, options, id, names, METRIC_COUNT, &metric))
		return false;
	*ret = (enum metric)metric;
	return true;
}
