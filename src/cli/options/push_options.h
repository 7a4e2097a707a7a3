/* Where profiles are pushed to, and under which labels: of `mallow live` and `mallow push`. */
#ifndef MALLOW_CLI_OPTIONS_PUSH_OPTIONS_H
#define MALLOW_CLI_OPTIONS_PUSH_OPTIONS_H

#include "cli/options/options.h"
#include "push/push.h"

#define PUSH_HEADERS_OPTION                                                                        \
	{                                                                                          \
		.name = "push-headers", .value = "FILE",                                           \
		.text = "lines 'Name: value' that go with each request, such as Authorization "    \
			"or X-Scope-OrgID"                                                         \
	}

struct push_options {
	struct push_target target; /* url NULL: nothing is to be pushed */
	char **headers;            /* NULL: none; ended by NULL */
	struct push_label labels[OPTIONS_MANY_MAX + 2];
	size_t label_count;
	uint64_t interval_ms; /* of `mallow live`: how often */
};

void push_options_deinit(struct push_options *options);

/*
 * Reads the place, the file of headers (NULL: none) and the labels, and opens what sends: service
 * is the name of the program, whose path this is, and host this machine's, unless a label says. The
 * exit status, and an error was printed, unless it is CLI_OK.
 */
int push_options_read(const struct options *options, const char *place, const char *headers,
		      const char *program, struct push_options *ret);

#endif
