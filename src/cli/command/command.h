/*
 * What a subcommand is. commands.def has its name, its usage and its one-line text; cmd_<id>.c
 * exports the rest as command_<id>.
 */
#ifndef MALLOW_CLI_COMMAND_COMMAND_H
#define MALLOW_CLI_COMMAND_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct command;
struct options;

/* One option of a subcommand. Its id is its index in the table. */
struct option_spec {
	const char *name;     /* "top": --top; NULL: the command has no such option */
	const char *alias;    /* a former name, which help does not show; NULL: none */
	const char *value;    /* what help calls its value; NULL: no value */
	const char *text;     /* what it does */
	const char *standard; /* the default, for help; NULL or "": not shown */
	const char *choices;  /* the words allowed, separated by spaces; NULL: any word */
	char letter;          /* 'o': -o; 0: none */
	bool many;            /* may be given several times: options->many */
	bool labels;          /* the same, NAME=VALUE: options->labels */
	/* Without a value it means 1; else "=VALUE", or the next word if that is 0 or 1. */
	bool flag;
};

struct command_body {
	const struct option_spec *options;
	size_t option_count;
	bool filters;         /* it has an option for each condition, behind these */
	bool coloured;        /* it prints a text in colours: has --color */
	bool names;           /* it looks up names: has --log */
	bool paged;           /* and by output_open_page(): has --no-pager */
	bool stop_at_operand; /* what follows the first operand belongs to another program */
	const char *details;  /* paragraphs for help and man page, separated by empty lines */
	/* Returns the exit status. */
	int (*run)(const struct command *command, const struct options *options);
};

struct command {
	const char *name;  /* "trace dump" */
	const char *usage; /* NULL: only the agent calls it, and help does not show it */
	const char *text;
	const struct command_body *body;
};

#define COMMAND(id, name, usage, text) extern const struct command_body command_##id;
#include "cli/command/commands.def"
#undef COMMAND

/* The line that help shows above the options of filters. */
#define COMMAND_FILTERS "Only allocations for which all of these hold (docs/filter.md)"

/* Options that commands have in common, behind their own: their ids are OPTIONS_COMMON and more. */
enum { COMMON_HELP, COMMON_COLOR, COMMON_LOG, COMMON_NO_PAGER, COMMON_OPTIONS };
#define OPTIONS_MAX    96 /* options of one command, filters included */
#define OPTIONS_COMMON OPTIONS_MAX

/* How many ids its options have, those of filters included, without the common ones. */
size_t command_option_count(const struct command *command);
/*
 * The option of an id, also of a common one. NULL: the command does not have it. That is a
 * condition whose name the command uses itself, or a setting that it does not take.
 */
const struct option_spec *command_option(const struct command *command, size_t id);

/* The commands that help shows, in its order. */
const struct command *commands(size_t *count);

/*
 * The command that argv begins with. *words: how many words of argv name it. for_help: the first
 * word of a name is enough ("trace"). NULL: there is none, and an error was printed.
 */
const struct command *command_find(int argc, char **argv, bool for_help, int *words);

#endif
