/*
 * What a report of live allocations is to show, out of options or of the variables by which the
 * agent hands them on.
 */
#ifndef MALLOW_CLI_LIVE_OPTIONS_H
#define MALLOW_CLI_LIVE_OPTIONS_H

#include "cli/options.h"
#include "report/live_ignore.h"
#include "report/live_view.h"

#define LIVE_KEYS_MAX 8

enum live_format {
	LIVE_TEXT,
	LIVE_JSON,
	LIVE_FLAME_GRAPH,
};

struct live_options {
	enum live_format format;
	enum live_key keys[LIVE_KEYS_MAX]; /* a report for each */
	size_t key_count;                  /* at least 1 */
	uint32_t top;                      /* 0: all */
	uint32_t depth;
	const char *outfile; /* NULL: standard error */
	const char *ignore;  /* a file, NULL: none */
};

/*
 * options: those of settings. false: a word is not allowed, and an error was printed. Only options
 * can be so: what is wrong with a variable the agent has said, and the default holds.
 */
bool live_options_read(const struct options *options, struct live_options *ret);

/* Adds the lines of the file, in directory if it is named so. */
struct err *live_options_ignore(const char *path, struct live_ignore *ret);

#endif
