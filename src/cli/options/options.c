#include "cli/options/options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/command/help.h"
#include "cli/options/log_option.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"
#include "hosted/cleanup.h"
#include "hosted/nearest.h"
#include "settings/settings.h"

#define HELP_ID    (OPTIONS_COMMON + COMMON_HELP)
#define ID_END     (OPTIONS_COMMON + COMMON_OPTIONS)
#define FIRST_CODE 256 /* what getopt_long returns for option 0: above any letter */

/* getopt's two tables of the same options. */
struct getopt_tables {
	struct option longs[2 * ID_END + 1];
	char shorts[2 * ID_END + 3];
};

/* The option of any id, the common ones included. NULL: the command does not have it. */
static const struct option_spec *option_of(const struct command *command, size_t id)
{
	bool known = id < command_option_count(command) || id >= OPTIONS_COMMON;

	return known ? command_option(command, id) : NULL;
}

static void fill_tables(const struct command *command, struct getopt_tables *tables)
{
	struct option *next = tables->longs;
	char *letter = tables->shorts;

	assert(command_option_count(command) <= OPTIONS_MAX);
	if (command->body->stop_at_operand)
		*letter++ = '+';
	*letter++ = ':'; /* makes getopt tell a missing value from an unknown option */
	for (size_t i = 0; i < ID_END; i++) {
		const struct option_spec *spec = option_of(command, i);

		if (!spec)
			continue;
		*next++ = (struct option){
			.name = spec->name,
			.has_arg = spec->flag    ? optional_argument
				   : spec->value ? required_argument
						 : no_argument,
			.val = FIRST_CODE + (int)i,
		};
		if (spec->alias) {
			*next = next[-1];
			next++->name = spec->alias;
		}
		if (spec->letter) {
			*letter++ = spec->letter;
			if (spec->value)
				*letter++ = ':';
		}
	}
	*next = (struct option){0};
}

/* The id of the option that getopt_long returned. */
static size_t option_id(const struct command *command, int code)
{
	if (code >= FIRST_CODE)
		return (size_t)(code - FIRST_CODE);
	for (size_t i = 0; i < command->body->option_count; i++) {
		if (command->body->options[i].letter == code)
			return i;
	}
	return HELP_ID;
}

static void complain_unknown_long(const struct command *command, const char *typed)
{
	const char *names[ID_END];
	size_t length = strcspn(typed + 2, "=");
	char name[64];
	const char *near;

	snprintf(name, sizeof(name), "%.*s", (int)length, typed + 2);
	for (size_t i = 0; i < ID_END; i++) {
		const struct option_spec *spec = option_of(command, i);

		names[i] = spec ? spec->name : NULL;
	}
	near = nearest_word(name, names, ID_END);
	if (near)
		cli_error(CLI_USAGE, "unknown option '--%s' of '%s': did you mean '--%s'?", name,
			  command->name, near);
	else
		cli_error(CLI_USAGE, "unknown option '--%s' of '%s': 'mallow %s --help' lists them",
			  name, command->name, command->name);
}

/*
 * Complains after getopt_long returned '?': the option is unknown or ambiguous, or takes no value.
 */
static void complain_unknown(const struct command *command, char **argv, int code)
{
	const char *typed = argv[optind - 1];

	if (code >= FIRST_CODE)
		cli_error(CLI_USAGE, "option '%.*s' of '%s' takes no value",
			  (int)strcspn(typed, "="), typed, command->name);
	else if (code)
		cli_error(CLI_USAGE, "unknown option '-%c' of '%s': 'mallow %s --help' lists them",
			  code, command->name, command->name);
	else
		complain_unknown_long(command, typed);
}

static void complain_missing(const struct command *command, int code)
{
	size_t id = option_id(command, code);
	const struct option_spec *spec = command_option(command, id);

	cli_error(CLI_USAGE, "option '--%s' of '%s' needs a value: --%s %s", spec->name,
		  command->name, spec->name, spec->value);
}

/*
 * The value of a flag. getopt knows "--flag" and "--flag=0"; users also type "--flag 0", as with
 * other options. Only the words 0 and 1 are values: others may be programs, such as true and yes.
 */
static const char *flag_value(char **argv, int argc)
{
	const char *word = optind < argc ? argv[optind] : "";

	if (strcmp(word, "0") != 0 && strcmp(word, "1") != 0)
		return "1";
	optind++;
	return word;
}

/* Adds a value to a list of the options. */
static bool add_value(const struct option_spec *option, const char *value, const char **list,
		      size_t *count)
{
	if (*count == OPTIONS_MANY_MAX) {
		cli_error(CLI_USAGE, "more than %d times --%s is too much", OPTIONS_MANY_MAX,
			  option->name);
		return false;
	}
	list[(*count)++] = value;
	return true;
}

/* Stores take such names alone; those with __ in front are their own. */
static bool is_label(const char *value)
{
	size_t length = 0;

	while (isalnum((unsigned char)value[length]) || value[length] == '_')
		length++;
	return length && value[length] == '=' && !isdigit((unsigned char)*value) &&
	       strncmp(value, "__", 2) != 0;
}

static bool add_many(const struct command *command, size_t id, const char *value,
		     struct options *options)
{
	const struct option_spec *option = command_option(command, id);

	if (option->labels && !is_label(value)) {
		cli_error(CLI_USAGE,
			  "--%s wants NAME=VALUE, with a name of letters, digits and _, not '%s'",
			  option->name, value);
		return false;
	}
	if (option->labels)
		return add_value(option, value, options->labels, &options->label_count);
	return !option->many || add_value(option, value, options->many, &options->many_count);
}

/*
 * Whether "--token SECRET" was typed. getopt would take it for short for --token-file, and the
 * error would print the secret as the name of a file.
 */
static bool is_secret(const struct command *command, char **argv, size_t id)
{
	const char *name = command_option(command, id)->name;
	const char *typed = argv[optind - (optarg == argv[optind - 1] ? 2 : 1)];

	return name && strcmp(name, "token-file") == 0 && optarg &&
	       strncmp(typed, "--token-file", strlen("--token-file")) != 0;
}

/* Does what a common option says. false: the command ends with *status. */
static bool take_common(const struct command *command, size_t id, int *status)
{
	switch (id - OPTIONS_COMMON) {
	case COMMON_COLOR:
		if (terminal_choose_colours(optarg))
			return true;
		cli_error(CLI_USAGE, "'%s' is no value of --color: one of %s is wanted", optarg,
			  TERMINAL_COLOURS);
		return false;
	case COMMON_LOG:
		if (log_option_choose(optarg))
			return true;
		cli_error(CLI_USAGE, "'%s' is no value of --log: allowed is one of %s", optarg,
			  setting_allowed(SETTING_LOG));
		return false;
	case COMMON_NO_PAGER:
		output_forbid_pager();
		return true;
	default:
		*status = help_command(command);
		return false;
	}
}

bool options_parse(const struct command *command, int argc, char **argv, struct options *ret,
		   int *status)
{
	struct getopt_tables tables = {0};
	int code;

	fill_tables(command, &tables);
	memset(ret, 0, sizeof(*ret));
	*status = CLI_USAGE;
	opterr = 0;
	optind = 0; /* glibc: begins anew, also with regard to '+' */
	while ((code = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
		size_t id;

		if (code == '?') {
			complain_unknown(command, argv, optopt);
			return false;
		}
		if (code == ':') {
			complain_missing(command, optopt);
			return false;
		}
		id = option_id(command, code);
		if (id >= OPTIONS_COMMON) {
			if (!take_common(command, id, status))
				return false;
			continue;
		}
		if (is_secret(command, argv, id)) {
			cli_error(CLI_USAGE, "everybody can read the words of a command: write the "
					     "token into a file, and give --token-file FILE");
			return false;
		}
		if (!add_many(command, id, optarg, ret))
			return false;
		if (!optarg && command_option(command, id)->flag)
			ret->values[id] = flag_value(argv, argc);
		else
			ret->values[id] = optarg ? optarg : "";
	}
	ret->operands = argv + optind;
	ret->operand_count = argc - optind;
	return true;
}

bool options_number(const struct command *command, const struct options *options, size_t id,
		    uint64_t minimum, uint64_t standard, uint64_t *ret)
{
	const char *text = options->values[id];
	char *end;

	*ret = standard;
	if (!text)
		return true;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && *ret >= minimum)
		return true;
	cli_error(CLI_USAGE, "'%s' is no value of --%s: a whole number from %ju on is wanted", text,
		  command->body->options[id].name, (uintmax_t)minimum);
	return false;
}

bool options_limited(const struct command *command, const struct options *options, size_t id,
		     uint64_t minimum, uint64_t standard, uint64_t maximum, uint64_t *ret)
{
	if (!options_number(command, options, id, minimum, standard, ret))
		return false;
	if (*ret <= maximum)
		return true;
	cli_error(CLI_USAGE, "--%s: at most %ju", command->body->options[id].name,
		  (uintmax_t)maximum);
	return false;
}

bool options_size(const struct command *command, const struct options *options, size_t id,
		  uint64_t standard, uint64_t *ret)
{
	const char *text = options->values[id];

	*ret = standard;
	if (!text || setting_parse_size(text, ret))
		return true;
	cli_error(CLI_USAGE,
		  "'%s' is no value of --%s: a size such as 4096, 64K, 10M or 1G is "
		  "wanted",
		  text, command->body->options[id].name);
	return false;
}

bool options_exclusive(const struct command *command, const struct options *options,
		       const int (*pairs)[2], size_t count)
{
	const struct option_spec *specs = command->body->options;

	for (size_t i = 0; i < count; i++) {
		const int *pair = pairs[i];

		if (!options->values[pair[0]] || !options->values[pair[1]])
			continue;
		cli_error(CLI_USAGE, "--%s and --%s exclude each other", specs[pair[0]].name,
			  specs[pair[1]].name);
		return false;
	}
	return true;
}

bool options_operands(const struct command *command, const struct options *options, int minimum,
		      int maximum, const char *what)
{
	if (options->operand_count < minimum)
		cli_error(CLI_USAGE, "'%s' needs %s: mallow %s %s", command->name, what,
			  command->name, command->usage);
	else if (options->operand_count > maximum)
		cli_error(CLI_USAGE, "'%s' takes %s only, '%s' is too much", command->name, what,
			  options->operands[maximum]);
	else
		return true;
	return false;
}

#define WORDS_MAX 16

/* Splits a list in place into its words. */
static size_t split(char *list, const char **words)
{
	char *rest = NULL;
	size_t count = 0;

	for (char *word = strtok_r(list, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		assert(count < WORDS_MAX);
		words[count++] = word;
	}
	return count;
}

bool options_choice(const struct command *command, const struct options *options, size_t id,
		    int *ret)
{
	const struct option_spec *spec = &command->body->options[id];
	const char *typed = options->values[id], *words[WORDS_MAX], *near;
	auto_free char *list = strdup(spec->choices);
	size_t count;

	if (!list)
		return cli_report_err(err_no_memory()) == CLI_OK;
	count = split(list, words);
	for (size_t i = 0; typed && i < count; i++) {
		if (strcmp(typed, words[i]) == 0) {
			*ret = (int)i;
			return true;
		}
	}
	if (!typed)
		return true;
	near = nearest_word(typed, words, count);
	if (near)
		cli_error(CLI_USAGE, "'%s' is no value of --%s: did you mean '%s'?", typed,
			  spec->name, near);
	else
		cli_error(CLI_USAGE, "'%s' is no value of --%s: one of %s is wanted", typed,
			  spec->name, spec->choices);
	return false;
}

bool seconds_read(const char *text, uint64_t *ret_ns)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end != text && !*end) {
		if (!isfinite(seconds) || seconds < 0.001 || seconds > 1e9)
			return false;
		*ret_ns = (uint64_t)(seconds * 1e9);
		return true;
	}
	return setting_parse(SETTING_INTERVAL, text, ret_ns) && *ret_ns >= 1000000;
}
