#include "cli/options/metric_option.h"

#include "cli/options/choice_option.h"

bool metric_option(const struct command *command, const struct options *options, size_t id,
		   enum metric *ret)
{
	int metric = METRIC_PEAK;

	if (!choice_option(command, options, id, &metric))
		return false;
	*ret = (enum metric)metric;
	return true;
}
