#include "cli/options/push_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "hosted/buf.h"
#include "hosted/file_name.h"

void push_options_deinit(struct push_options *options)
{
	push_target_deinit(&options->target);
	free(options->headers);
	for (size_t i = 0; i < options->label_count; i++) {
		free(options->labels[i].name);
		free(options->labels[i].value);
	}
	*options = (struct push_options){0};
}

static bool has_label(const struct push_options *options, const char *name)
{
	for (size_t i = 0; i < options->label_count; i++)
		if (!strcmp(options->labels[i].name, name))
			return true;
	return false;
}

static struct err *add_label(struct push_options *options, const char *name, size_t length,
			     const char *value)
{
	struct push_label *label = &options->labels[options->label_count++];
	struct buf shown = BUF_EMPTY;

	// Stores want UTF-8.
	buf_shown(&shown, value, strlen(value));
	label->name = strndup(name, length);
	label->value = buf_take(&shown);
	return label->name && label->value ? NULL : err_no_memory();
}

static struct err *read_labels(const struct options *options, const char *program,
			       struct push_options *ret)
{
	char host[256] = "";
	struct err *err = NULL;

	for (size_t i = 0; !err && i < options->label_count; i++)
		err = add_label(ret, options->labels[i], strcspn(options->labels[i], "="),
				strchr(options->labels[i], '=') + 1);
	if (!err && !has_label(ret, "service"))
		err = add_label(ret, "service", 7, file_name(program));
	if (!err && !has_label(ret, "host") && gethostname(host, sizeof(host) - 1) == 0 && *host)
		err = add_label(ret, "host", 4, host);
	return err;
}

int push_options_read(const struct options *options, const char *place, const char *headers,
		      const char *program, struct push_options *ret)
{
	struct err *err;

	*ret = (struct push_options){0};
	if (!place)
		return CLI_OK;
	err = push_target_parse(place, &ret->target);
	if (!err)
		err = read_labels(options, program, ret);
	if (err) {
		cli_report_err(err);
		return CLI_USAGE;
	}
	if (headers)
		err = push_headers_read(headers, &ret->headers);
	if (!err)
		err = push_prepare();
	return cli_report_err(err);
}
