#include "cli/command/command.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/recordings/file_kind.h"
#include "cli/options/filter_options.h"
#include "cli/run/run_program.h"
#include "cli/output/terminal.h"
#include "hosted/nearest.h"

static const struct command table[] = {
#define COMMAND(id, name, usage, text) {name, usage, text, &command_##id},
#include "cli/command/commands.def"
#undef COMMAND
};

#define COMMAND_COUNT (ARRAY_COUNT(table))

const struct command *commands(size_t *count)
{
	for (*count = 0; *count < COMMAND_COUNT && table[*count].usage;)
		++*count;
	return table;
}

static const struct option_spec common[COMMON_OPTIONS] = {
	[COMMON_HELP] = {.name = "help", .letter = 'h', .text = "this text"},
	[COMMON_COLOR] = {.name = "color",
			  .value = "WHEN",
			  .text = "colours; auto: on a terminal, unless NO_COLOR is set",
			  .choices = TERMINAL_COLOURS},
	[COMMON_LOG] = {.name = "log",
			.value = "LEVEL",
			.text = "debug: say on stderr where names of functions were looked for, "
				"and why files were refused",
			.choices = "off debug"},
	[COMMON_NO_PAGER] =
		{.name = "no-pager",
		 .text = "show what is longer than the terminal as it is, not in PAGER or less"},
};

size_t command_option_count(const struct command *command)
{
	size_t filters = 0;

	if (command->body->filters)
		filter_options(&filters);
	return command->body->option_count + filters;
}

const struct option_spec *command_option(const struct command *command, size_t id)
{
	const struct command_body *body = command->body;
	const struct option_spec *spec;
	size_t count;

	if (id == OPTIONS_COMMON + COMMON_COLOR && !body->coloured)
		return NULL;
	if (id == OPTIONS_COMMON + COMMON_LOG && !body->names)
		return NULL;
	if (id == OPTIONS_COMMON + COMMON_NO_PAGER && !body->paged)
		return NULL;
	if (id >= OPTIONS_COMMON)
		return &common[id - OPTIONS_COMMON];
	if (id < body->option_count)
		return body->options[id].name ? &body->options[id] : NULL;
	spec = &filter_options(&count)[id - body->option_count];
	for (size_t i = 0; i < body->option_count; i++)
		if (body->options[i].name && strcmp(body->options[i].name, spec->name) == 0)
			return NULL;
	return spec;
}

/*
 * How many words of argv are the whole name; 0: not all of it. *partial: argv has only the
 * beginning of it.
 */
static int match(const char *name, int argc, char **argv, bool *partial)
{
	int words = 0;

	*partial = false;
	for (;;) {
		size_t length = strcspn(name, " ");

		if (words == argc) {
			*partial = words > 0;
			return 0;
		}
		if (strlen(argv[words]) != length || memcmp(argv[words], name, length) != 0) {
			*partial = words > 0;
			return 0;
		}
		words++;
		name += length;
		if (!*name)
			return words;
		name++;
	}
}

/* Complains: the first word is right, such as "trace", but the second is missing or wrong. */
static void complain_partial(const struct command *command, int argc, char **argv)
{
	size_t first = strcspn(command->name, " ");

	if (argc > 1 && argv[1][0] != '-')
		cli_error(CLI_USAGE, "unknown command '%s %s': did you mean '%s'?", argv[0],
			  argv[1], command->name);
	else
		cli_error(CLI_USAGE, "'%.*s' is not a whole command: did you mean '%s'?",
			  (int)first, command->name, command->name);
}

/*
 * The command for a file that was given in place of a command: a recording or a program. NULL: it
 * is neither.
 */
static const char *command_for_file(const char *name)
{
	struct err *err = file_kind_check(name);

	if (!err)
		return "report";
	err_destroy(err);
	return run_program_exists(name) ? "run" : NULL;
}

const struct command *command_find(int argc, char **argv, bool for_help, int *words)
{
	const char *names[COMMAND_COUNT];
	const struct command *almost = NULL;
	const char *near, *fitting;

	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		bool partial;

		*words = match(table[i].name, argc, argv, &partial);
		if (*words)
			return &table[i];
		if (partial && !almost)
			almost = &table[i];
		names[i] = table[i].usage ? table[i].name : NULL;
	}
	if (almost && for_help) {
		*words = 1;
		return almost;
	}
	near = nearest_word(argv[0], names, COMMAND_COUNT);
	fitting = command_for_file(argv[0]);
	if (almost)
		complain_partial(almost, argc, argv);
	else if (near)
		cli_error(CLI_USAGE, "unknown command '%s': did you mean '%s'?", argv[0], near);
	else if (fitting)
		cli_error(CLI_USAGE, "unknown command '%s': did you mean 'mallow %s %s'?", argv[0],
			  fitting, argv[0]);
	else
		cli_error(CLI_USAGE, "unknown command '%s': 'mallow --help' lists them", argv[0]);
	return NULL;
}
