/* mallow: finds the subcommand, parses its options by its table, and runs it. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/loader_variables.h"
#include "cli/cli.h"
#include "cli/command/command.h"
#include "cli/command/help.h"
#include "cli/commit.h"
#include "cli/options/access_options.h"
#include "cli/options/log_option.h"
#include "cli/options/options.h"
#include "hosted/nearest.h"
#include "settings/settings.h"

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

#define TEXT(macro) TEXT_(macro)
#define TEXT_(text) #text
#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* The version comes first, as scripts read it; then which commit and build it is. */
static int print_version(void)
{
	static const char text[] = "mallow " MALLOW_VERSION " (commit " MALLOW_COMMIT
				   ", " TEXT(MALLOW_CPU) ", " COMPILER ")";

	return puts(text) < 0 || fflush(stdout) != 0 ? CLI_FAILED : CLI_OK;
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

/*
 * A larger stack for the tool: `ulimit -s 16` before `mallow run` is meant for the program, but the
 * tool needs some 200 KB.
 */
#define LARGE (8u << 20) /* Linux's default */
#define GUARD 65536u     /* below the stack: an overflow ends with a signal */

// A global, because makecontext() passes only ints.
static struct {
	int argc;
	char **argv;
	int status;
	ucontext_t here, there;
} large;

static void carry_out_there(void)
{
	large.status = carry_out(large.argc, large.argv);
}

static bool is_large(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= LARGE;
}

/* Enlarges the stacks of threads, for which the C library took over the small limit. */
static void enlarge_threads(void)
{
	pthread_attr_t attributes;

	if (pthread_attr_init(&attributes) != 0)
		return;
	pthread_attr_setstacksize(&attributes, LARGE);
	pthread_setattr_default_np(&attributes);
	pthread_attr_destroy(&attributes);
}

/*
 * Carries the command out, on a larger stack if RLIMIT_STACK is small; then threads that start from
 * now on get one as large.
 */
static int carry_out_on_large_stack(int argc, char **argv)
{
	char *stack;

	if (is_large())
		return carry_out(argc, argv);
	enlarge_threads();
	stack = mmap(NULL, GUARD + LARGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED || mprotect(stack, GUARD, PROT_NONE) || getcontext(&large.there))
		return carry_out(argc, argv);
	large.argc = argc;
	large.argv = argv;
	large.there.uc_stack.ss_sp = stack + GUARD;
	large.there.uc_stack.ss_size = LARGE;
	large.there.uc_link = &large.here;
	makecontext(&large.there, carry_out_there, 0);
	swapcontext(&large.here, &large.there);
	return large.status;
}

int main(int argc, char **argv)
{
	loader_variables_turn(environ, LOADER_VARIABLES_HIDDEN, LOADER_VARIABLES_SHOWN);
	keep_standard_descriptors();
	token_variable_take();
	log_option_choose(getenv(setting_info(SETTING_LOG)->variable));
	return carry_out_on_large_stack(argc, argv);
}
