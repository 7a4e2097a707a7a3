/* The conditions of analysis/filter/filter.def as options of a command: size_min is --size-min. */
#ifndef MALLOW_CLI_FILTER_OPTIONS_H
#define MALLOW_CLI_FILTER_OPTIONS_H

#include "analysis/filter/filter.h"
#include "cli/options.h"
#include "report/filter_report.h"

/* One for each condition, as filter_parameters() has them. */
const struct option_spec *filter_options(size_t *count);

/*
 * The filter that the options of a command, which has body->filters, come to; NULL: none was given.
 * false: one has a wrong value, and an error was printed.
 */
bool filter_options_read(const struct command *command, const struct options *options,
			 struct filter **ret);

/* false: a condition was given as well as the command's own option of that id; printed. */
bool filter_options_exclude(const struct command *command, const struct options *options,
			    size_t id);

/* The same for that condition alone: "size-min". */
bool filter_options_exclude_one(const struct command *command, const struct options *options,
				size_t id, const char *name);

/* A recording with blocks, filtered. */
struct filter_view {
	struct recording *recording; /* NULL: the filter is empty, it is as it was */
	struct filter_match match;
	struct filter_report report;
};

struct err *filter_view_create(const struct filter *filter, const struct recording *recording,
			       struct symbolized *symbolized, struct filter_view *ret);
/* Accepts a zeroed struct. */
void filter_view_deinit(struct filter_view *view);

#endif
