/* mallow: finds the subcommand, parses its options by its table, and runs it. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/command/command.h"
#include "cli/command/help.h"
#include "cli/large_stack.h"
#include "cli/options/log_option.h"
#include "cli/options/options.h"
#include "cli/options/token_option.h"
#include "hosted/nearest.h"
#include "settings/settings.h"

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int print_version(void)
{
	return puts("mallow " MALLOW_VERSION) < 0 || fflush(stdout) != 0 ? CLI_FAILED : CLI_OK;
}

/* Options before the command. Only some that are commands themselves are allowed. */
static int global_option(const char *word)
{
	static const char *const names[] = {"--help", "--version"};
	const char *near;

	if (is_help(word))
		return help_overview();
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		return print_version();
	near = nearest_word(word, names, 2);
	if (near)
		return cli_error(CLI_USAGE, "unknown option '%s': did you mean '%s'?", word, near);
	return cli_error(CLI_USAGE,
			 "unknown option '%s': a command comes first, 'mallow --help' "
			 "lists them",
			 word);
}

/*
 * Puts something in place of standard input, output and error that are closed: else a file that we
 * open would be taken for one of them. To write to it fails, as before. Programs that we execute
 * have them closed.
 */
static void keep_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

static int carry_out(int argc, char **argv)
{
	const struct command *command;
	struct options options;
	int words, status;
	bool help;

	if (argc < 2)
		return help_beginning();
	if (argv[1][0] == '-')
		return global_option(argv[1]);
	if (strcmp(argv[1], "version") == 0)
		return print_version();
	help = strcmp(argv[1], "help") == 0; // "help COMMAND" is COMMAND --help
	if (help && (argc == 2 || is_help(argv[2])))
		return help_overview();
	argc -= 1 + help;
	argv += 1 + help;
	command = command_find(argc, argv, help || (argc > 1 && is_help(argv[1])), &words);
	if (!command)
		return CLI_USAGE;
	if (help)
		return help_command(command);
	if (!options_parse(command, argc - words + 1, argv + words - 1, &options, &status))
		return status;
	return command->body->run(command, &options);
}

int main(int argc, char **argv)
{
	keep_standard_descriptors();
	token_variable_take();
	log_option_choose(getenv(setting_info(SETTING_LOG)->variable));
	return large_stack_call(carry_out, argc, argv);
}
