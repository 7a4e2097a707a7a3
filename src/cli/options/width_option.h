/* --width N: how wide a text on standard output is. */
#ifndef MALLOW_CLI_OPTIONS_WIDTH_OPTION_H
#define MALLOW_CLI_OPTIONS_WIDTH_OPTION_H

#include "cli/options/options.h"
#include "report/words/style.h"

/* A row of a command's options. */
#define WIDTH_OPTION                                                                               \
	{                                                                                          \
		.name = "width", .value = "N",                                                     \
		.text = "columns of a text, 0 for as many as it needs",                            \
		.standard = "the terminal's, else 80"                                              \
	}

/*
 * *ret: the style of a page on standard output (terminal_page()), as wide as the option says. The
 * narrowest page is TERMINAL_LEAST. false: the value is no number, and an error was printed.
 */
bool width_option(const struct command *command, const struct options *options, size_t id,
		  struct style *ret);

#endif
