/* The option --sources of the commands whose answers can hold the text of source files. */
#ifndef MALLOW_CLI_OPTIONS_SOURCES_OPTION_H
#define MALLOW_CLI_OPTIONS_SOURCES_OPTION_H

#include <string.h>

#include "cli/options/options.h"
#include "server/data/source_file.h"

#define SOURCES_OPTION                                                                             \
	{                                                                                          \
		.name = "sources", .value = "DIR", .flag = true,                                   \
		.text = "show source files that frames name: where debug information says they "   \
			"are, or below DIR"                                                        \
	}

/* Without a value an option of this kind is "1", and "0" takes it back. NULL: it was not given. */
static inline struct source_options sources_option(const char *value)
{
	bool plain = value && strcmp(value, "1") == 0;

	return (struct source_options){
		.served = value && strcmp(value, "0") != 0,
		.directory = plain ? NULL : value,
	};
}

#endif
