/* The option parser of all commands: takes a command's table, gives values by index. */
#ifndef MALLOW_CLI_OPTIONS_OPTIONS_H
#define MALLOW_CLI_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/command/command.h"

#define OPTIONS_MANY_MAX 64 /* values of the option that may be given several times */

struct options {
	const char *values[OPTIONS_MAX];        /* NULL: not given; "": given, without a value */
	const char *many[OPTIONS_MANY_MAX + 1]; /* all values of that option, ended by NULL */
	size_t many_count;
	const char *labels[OPTIONS_MANY_MAX + 1]; /* the same of LABEL_OPTION */
	size_t label_count;
	char **operands; /* the words behind the options */
	int operand_count;
};

/*
 * Parses argv, behind the words of the command. If an option is given twice, the last value counts.
 * false: the command ends with *status, because help or an error was printed.
 */
bool options_parse(const struct command *command, int argc, char **argv, struct options *ret,
		   int *status);

/*
 * *ret: the value of an option that is a number; standard if it was not given. false: it is no
 * whole number, or is below minimum, and an error was printed.
 */
bool options_number(const struct command *command, const struct options *options, size_t id,
		    uint64_t minimum, uint64_t standard, uint64_t *ret);

/* The same, with the largest value that is allowed. */
bool options_limited(const struct command *command, const struct options *options, size_t id,
		     uint64_t minimum, uint64_t standard, uint64_t maximum, uint64_t *ret);

/* The same for a size such as 64K, in bytes. */
bool options_size(const struct command *command, const struct options *options, size_t id,
		  uint64_t standard, uint64_t *ret);

/*
 * *ret: the value of an option as the index of a word of its `choices`; unchanged if it was not
 * given. false: the value is none of the words, and an error was printed.
 */
bool options_choice(const struct command *command, const struct options *options, size_t id,
		    int *ret);

/*
 * pairs: ids of options that exclude each other. false: both of a pair were given, and an error was
 * printed.
 */
bool options_exclusive(const struct command *command, const struct options *options,
		       const int (*pairs)[2], size_t count);

/* false: there are fewer than minimum or more than maximum operands, and an error was printed. */
bool options_operands(const struct command *command, const struct options *options, int minimum,
		      int maximum, const char *what);

/* A time as people type it, 5, 0.5, 500ms, 2m: in nanoseconds, from 1 ms to 1e9 s. false: it is
 * none of these. */
bool seconds_read(const char *text, uint64_t *ret_ns);

#endif
