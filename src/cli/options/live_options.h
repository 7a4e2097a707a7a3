/*
 * What a report of live allocations is to show. It is read from options, or from the variables in
 * which the agent passes them on.
 */
#ifndef MALLOW_CLI_OPTIONS_LIVE_OPTIONS_H
#define MALLOW_CLI_OPTIONS_LIVE_OPTIONS_H

#include "cli/options/options.h"
#include "report/views/live_view.h"

#define LIVE_KEYS_MAX 8

enum live_format {
	LIVE_TEXT,
	LIVE_JSON,
	LIVE_FLAME_GRAPH,
};

struct live_options {
	enum live_format format;
	enum live_key keys[LIVE_KEYS_MAX]; /* one report for each */
	size_t key_count;                  /* at least 1 */
	uint32_t top;                      /* 0: all */
	uint32_t depth;
	bool full;
	const char *outfile;  /* NULL: standard error */
	const char *ignore;   /* a file, NULL: none */
	const char *plumbing; /* a file, NULL: none */
};

/*
 * options: those of settings. false: the word of an option is not allowed, and an error was
 * printed. A wrong word in a variable means the default: the agent has said that it is wrong.
 */
bool live_options_read(const struct options *options, struct live_options *ret);

/* Adds the lines of that file to *ret. */
struct err *live_options_ignore(const char *path, struct live_ignore *ret);

#endif
