/* The option that names a metric, and the list of metrics for help. */
#ifndef MALLOW_CLI_OPTIONS_METRIC_OPTION_H
#define MALLOW_CLI_OPTIONS_METRIC_OPTION_H

#include "analysis/sites/metric.h"
#include "cli/options/options.h"

#define METRIC(NAME, name, field, unit, text) " " name
/* " peak leaked …": +1 skips the first space. */
static const char metric_names[] =
#include "analysis/sites/metric.def"
	;
#undef METRIC

/*
 * The option must have the list above as its choices. *ret: METRIC_PEAK if it was not given. false:
 * no such metric, and an error was printed.
 */
bool metric_option(const struct command *command, const struct options *options, size_t id,
		   enum metric *ret);

#endif
