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

#define LABEL_OPTION                                                                               \
	{                                                                                          \
		.name = "label", .value = "NAME=VALUE",                                            \
		.text = "a label of what is pushed, such as version=1.2 or env=prod; "             \
			"service_name is the program's and host this machine's name, unless "      \
			"given; may be given many times",                                          \
		.many = true                                                                       \
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
 * Reads the place, the file of headers (NULL: none) and the labels (options->many), and opens what
 * sends. program: its path. The exit status, and an error was printed, unless it is CLI_OK.
 */
int push_options_read(const struct options *options, const char *place, const char *headers,
		      const char *program, struct push_options *ret);

#endif
