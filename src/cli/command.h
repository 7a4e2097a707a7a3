/*
 * What a subcommand is. Names, usage and the one-line text stand in commands.def; the rest is
 * exported by cmd_<id>.c as command_<id>.
 */
#ifndef MALLOW_CLI_COMMAND_H
#define MALLOW_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct command;
struct options;

/* One option of a subcommand; its index in the table is its id. */
struct option_spec {
	const char *name;     /* "top": --top; NULL: the command has no such option */
	const char *value;    /* what help calls its value; NULL: it has none */
	const char *text;     /* what it does */
	const char *standard; /* the default, for help; NULL or "": none worth saying */
	const char *choices;  /* the words allowed, by spaces; NULL: not a choice */
	char letter;          /* 'o': -o; 0: none */
	bool many;            /* each time that it is given counts: options->many */
	bool flag; /* without a value it means 1; a value follows by =, or is the word 0 or 1 */
};

struct command_body {
	const struct option_spec *options;
	size_t option_count;
	bool filters;         /* it has an option for each condition of a filter, behind these */
	bool stop_at_operand; /* what follows the first operand belongs to another program */
	const char *details;  /* paragraphs for help and man page, by empty lines */
	/* Returns the exit status. */
	int (*run)(const struct command *command, const struct options *options);
};

struct command {
	const char *name;  /* "trace dump" */
	const char *usage; /* NULL: the agent alone calls it, and no help has it */
	const char *text;
	const struct command_body *body;
};

#define COMMAND(id, name, usage, text) extern const struct command_body command_##id;
#include "cli/commands.def"
#undef COMMAND

/* What help says above the options of filters. */
#define COMMAND_FILTERS "Only allocations for which all of these hold (docs/filter.md)"

/* Its options with those of filters, by their ids. */
size_t command_option_count(const struct command *command);
/*
 * NULL: not there. A filter's name that the command uses itself, or a setting of the table that the
 * command does not take.
 */
const struct option_spec *command_option(const struct command *command, size_t id);

/* Those that help has, in its order. */
const struct command *commands(size_t *count);

/*
 * The command that argv begins with; *words receives how many words of argv name it. for_help: the
 * first word of a name will do ("trace"). NULL: none, and an error was printed.
 */
const struct command *command_find(int argc, char **argv, bool for_help, int *words);

#endif
