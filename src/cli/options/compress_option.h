/* The option --compress of the commands that finish recordings. */
#ifndef MALLOW_CLI_OPTIONS_COMPRESS_OPTION_H
#define MALLOW_CLI_OPTIONS_COMPRESS_OPTION_H

#include "cli/options/options.h"
#include "finish/finish.h"

#define COMPRESS_CHOICES "auto always never"

#define COMPRESS_OPTION                                                                            \
	{                                                                                          \
		.name = "compress", .value = "WHEN",                                               \
		.text = "compress the events; auto: from 1 MiB of them on",                        \
		.choices = COMPRESS_CHOICES                                                        \
	}

/*
 * *ret: FINISH_COMPRESS_AUTO if the option was not given. false: a wrong value, and an error was
 * printed.
 */
bool compress_option(const struct command *command, const struct options *options, size_t id,
		     enum finish_compress *ret);

#endif
