#include "cli/options/filter_options.h"

#include <assert.h>
#include <string.h>

#include "analysis/filter/filtered.h"
#include "cli/cli.h"
#include "hosted/cleanup.h"
#include "hosted/encode.h"
#include "report/words/shell_word.h"

/* Filled at the first call. Only one thread of the tool calls. */
static struct option_spec specs[OPTIONS_MAX];
static char names[OPTIONS_MAX][FILTER_OPTION_SIZE];

const struct option_spec *filter_options(size_t *count)
{
	const struct filter_parameter *parameters = filter_parameters(count);

	assert(*count <= OPTIONS_MAX);
	for (size_t i = 0; !specs[*count - 1].name && i < *count; i++) {
		assert(strlen(parameters[i].name) < FILTER_OPTION_SIZE);
		filter_option_name(parameters[i].name, names[i]);
		specs[i] = (struct option_spec){
			.name = names[i],
			.value = parameters[i].value,
			.text = parameters[i].text,
			.choices = parameters[i].choices,
			.alias = strcmp(names[i], FILTER_OPTION_AT) == 0 ? "alive-at" : NULL,
		};
	}
	return specs;
}

bool filter_options_read(const struct command *command, const struct options *options,
			 struct filter **ret)
{
	const char *const *values = options->values + command->body->option_count;
	cleanup(filter_destroy_at) struct filter *filter = NULL;
	struct err *err = filter_create(&filter);
	size_t count;

	filter_options(&count);
	for (size_t i = 0; !err && i < count; i++)
		if (values[i]) {
			char name[FILTER_OPTION_SIZE + 2];

			snprintf(name, sizeof(name), "--%s", specs[i].name);
			err = filter_set(filter, name, values[i]);
		}
	*ret = NULL;
	if (err) {
		cli_error(CLI_USAGE, "%s", err_message(err));
		err_destroy(err);
		return false;
	}
	if (!filter_is_empty(filter))
		*ret = steal(&filter);
	return true;
}

/* false: a condition (name NULL: any) was given together with the option of that id. */
static bool exclude(const struct command *command, const struct options *options, size_t id,
		    const char *name)
{
	const char *const *values = options->values + command->body->option_count;
	size_t count;

	filter_options(&count);
	for (size_t i = 0; options->values[id] && i < count; i++) {
		if (!values[i] || (name && strcmp(name, specs[i].name) != 0))
			continue;
		cli_error(CLI_USAGE, "--%s and --%s exclude each other",
			  command->body->options[id].name, specs[i].name);
		return false;
	}
	return true;
}

bool filter_options_exclude(const struct command *command, const struct options *options, size_t id)
{
	return exclude(command, options, id, NULL);
}

bool filter_options_exclude_one(const struct command *command, const struct options *options,
				size_t id, const char *name)
{
	return exclude(command, options, id, name);
}

void filter_options_put(struct buf *buf, const struct command *command,
			const struct options *options)
{
	const char *const *values = options->values + command->body->option_count;
	size_t count;

	filter_options(&count);
	for (size_t i = 0; i < count; i++) {
		if (!values[i])
			continue;
		buf_printf(buf, " --%s ", specs[i].name);
		shell_word_put(buf, values[i]);
	}
}

void filter_options_put_query(struct buf *buf, const struct command *command,
			      const struct options *options)
{
	const char *const *values = options->values + command->body->option_count;
	size_t count;
	const struct filter_parameter *parameters = filter_parameters(&count);

	for (size_t i = 0; i < count; i++) {
		if (!values[i])
			continue;
		buf_printf(buf, "%s%s=", buf->size ? "&" : "", parameters[i].name);
		uri_put(buf, values[i]);
	}
}

struct err *filter_view_create(const struct filter *filter, const struct recording *recording,
			       struct symbolized *symbolized, struct filter_view *ret)
{
	struct err *err = NULL;

	if (recording_facts(recording)->aggregate && !filter_is_empty(filter)) {
		err = filter_aggregate(filter, recording, symbolized, &ret->recording);
		ret->report = (struct filter_report){.filter = filter};
		if (err)
			return err;
		ret->report.matched = recording_summary(ret->recording)->calls;
		ret->report.blocks = recording_summary(recording)->calls;
		return NULL;
	}
	err = filter_match(filter, recording, symbolized, &ret->match);
	if (err)
		return err;
	ret->report = (struct filter_report){filter, ret->match.count, ret->match.blocks};
	return filter_is_empty(filter) ? NULL
				       : filtered_create(recording, &ret->match, &ret->recording);
}

void filter_view_deinit(struct filter_view *view)
{
	recording_close(view->recording);
	filter_match_deinit(&view->match);
	*view = (struct filter_view){0};
}
