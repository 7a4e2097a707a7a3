/* The conditions of analysis/filter/filter.def as options of a command: size_min is --size-min. */
#ifndef MALLOW_CLI_OPTIONS_FILTER_OPTIONS_H
#define MALLOW_CLI_OPTIONS_FILTER_OPTIONS_H

#include "analysis/filter/filter.h"
#include "cli/options/options.h"
#include "report/views/subject.h"

/* The options: one for each condition, in the order of filter_parameters(). */
const struct option_spec *filter_options(size_t *count);

/*
 * *ret: the filter that the options say, owned by the caller; NULL: no condition was given. The
 * command must have body->filters. false: a value is wrong, and an error was printed.
 */
bool filter_options_read(const struct command *command, const struct options *options,
			 struct filter **ret);

/*
 * false: a condition was given together with the command's own option of that id; an error was
 * printed.
 */
bool filter_options_exclude(const struct command *command, const struct options *options,
			    size_t id);

/* The same for one condition only: "size-min". */
bool filter_options_exclude_one(const struct command *command, const struct options *options,
				size_t id, const char *name);

/* Writes the conditions that were given, for a command that shows the same: " --size-min 3". */
void filter_options_put(struct buf *buf, const struct command *command,
			const struct options *options);

/* Writes them as a request to the server has them: "size_min=3&thread=main". */
void filter_options_put_query(struct buf *buf, const struct command *command,
			      const struct options *options);

/* A filter applied to a recording with blocks. */
struct filter_view {
	struct recording *recording; /* the filtered one; NULL: the filter is empty */
	struct filter_match match;
	struct filter_report report;
};

struct err *filter_view_create(const struct filter *filter, const struct recording *recording,
			       struct symbolized *symbolized, struct filter_view *ret);
/* Accepts a zeroed struct. */
void filter_view_deinit(struct filter_view *view);

#endif
