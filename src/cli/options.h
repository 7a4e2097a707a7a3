/* The one option parser: a command's table in, values by index out. */
#ifndef MALLOW_CLI_OPTIONS_H
#define MALLOW_CLI_OPTIONS_H

#include <stdint.h>

#include "cli/command.h"

#define OPTIONS_MAX 96 /* of one command, filters included */

#define OPTIONS_MANY_MAX 64 /* values of options that may be given several times */

struct options {
	const char *values[OPTIONS_MAX];        /* NULL: not given; "" for one without value */
	const char *many[OPTIONS_MANY_MAX + 1]; /* of the one that may be, in turn; NULL behind */
	size_t many_count;
	char **operands; /* the rest of argv */
	int operand_count;
};

/*
 * Parses argv behind the command's words. false: the command is over with *status, because help
 * was asked for and printed, or an error was. The last of several equal options counts.
 */
bool options_parse(const struct command *command, int argc, char **argv, struct options *ret,
		   int *status);

/*
 * The value of a number option, or standard if it was not given. false: it is no whole number of
 * at least minimum, and an error was printed.
 */
bool options_number(const struct command *command, const struct options *options, size_t id,
		    uint64_t minimum, uint64_t standard, uint64_t *ret);

/* The same of a size such as 64K, in bytes. */
bool options_size(const struct command *command, const struct options *options, size_t id,
		  uint64_t standard, uint64_t *ret);

/* false: two were given, by their ids, that cannot be asked for together; an error was printed. */
bool options_exclusive(const struct command *command, const struct options *options,
		       const int (*pairs)[2], size_t count);

/* false: the number of operands is not within the bounds, and an error was printed. */
bool options_operands(const struct command *command, const struct options *options, int minimum,
		      int maximum, const char *what);

#endif
