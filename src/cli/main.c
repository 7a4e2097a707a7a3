/* mallow: finds the subcommand, parses its options by its table, runs it. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/large_stack.h"
#include "cli/options.h"
#include "hosted/nearest.h"

/* Options before the command: only those that are commands themselves. */
static int global_option(const char *word)
{
	static const char *const names[] = {"--help", "--version"};
	const char *near;

	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return help_overview();
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
		if (puts("mallow " MALLOW_VERSION) < 0 || fflush(stdout) != 0)
			return CLI_FAILED;
		return CLI_OK;
	}
	near = nearest_word(word, names, 2);
	if (near)
		return cli_error(CLI_USAGE, "unknown option '%s': did you mean '%s'?", word, near);
	return cli_error(CLI_USAGE,
			 "unknown option '%s': a command comes first, 'mallow --help' "
			 "lists them",
			 word);
}

static int carry_out(int argc, char **argv)
{
	const struct command *command;
	struct options options;
	int words, status;

	if (argc < 2)
		return cli_error(CLI_USAGE, "a command is missing: 'mallow --help' lists them");
	if (argv[1][0] == '-')
		return global_option(argv[1]);
	if (strcmp(argv[1], "help") == 0 && argc == 2)
		return help_overview();
	if (strcmp(argv[1], "help") == 0) { /* as git and others: the same as COMMAND --help */
		command = command_find(argc - 2, argv + 2, &words);
		return command ? help_command(command) : CLI_USAGE;
	}
	command = command_find(argc - 1, argv + 1, &words);
	if (!command)
		return CLI_USAGE;
	if (!options_parse(command, argc - words, argv + words, &options, &status))
		return status;
	return command->body->run(command, &options);
}

int main(int argc, char **argv)
{
	return large_stack_call(carry_out, argc, argv);
}
