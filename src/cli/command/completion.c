#include "cli/command/completion.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/command/command.h"

/* Calls for each option of a command, the common ones included. */
#define FOR_OPTIONS(command, spec)                                                                 \
	for (size_t id_ = 0; id_ < OPTIONS_COMMON + COMMON_OPTIONS; id_++)                         \
		if ((spec = option_at(command, id_)))

static const struct option_spec *option_at(const struct command *command, size_t id)
{
	bool known = id < command_option_count(command) || id >= OPTIONS_COMMON;

	return known ? command_option(command, id) : NULL;
}

/* Whether its operands are recordings: files that are called .mallow, and directories of them. */
static bool takes_recordings(const struct command *command)
{
	// What import takes is anything else.
	return (strstr(command->usage, "RECORDING") || strstr(command->usage, "BEFORE")) &&
	       !strstr(command->usage, "FILE\u2026");
}

static bool is_file(const struct option_spec *spec)
{
	static const char *const files[] = {"FILE",      "DIR",    "PATH",
					    "RECORDING", "BEFORE", "FILE|DIR"};

	for (size_t i = 0; spec->value && i < ARRAY_COUNT(files); i++)
		if (strcmp(spec->value, files[i]) == 0)
			return true;
	return false;
}

/* The first word of a command's name. */
static int first_word(const struct command *command)
{
	return (int)strcspn(command->name, " ");
}

/* Writes text inside single quotes, with a backslash before each of `special`, too. */
static void put_quoted(const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else if (strchr(special, *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

/* --- bash --- */

static void put_bash_values(const struct option_spec *spec)
{
	printf("\t\t--%s", spec->name);
	if (spec->letter)
		printf("|-%c", spec->letter);
	if (spec->choices)
		printf(") words=\"%s\"; options=yes ;;\n", spec->choices);
	else
		printf(") files=any ;;\n");
}

static void put_bash_command(const struct command *command)
{
	const struct option_spec *spec;

	printf("\t\"%s\")\n\t\twords=\"", command->name);
	FOR_OPTIONS(command, spec)
	printf("--%s ", spec->name);
	printf("\"\n%s\t\tcase \"$previous\" in\n",
	       takes_recordings(command) ? "\t\tfiles=recordings\n" : "");
	FOR_OPTIONS(command, spec)
	if (spec->value && !spec->flag)
		put_bash_values(spec);
	printf("\t\tesac\n\t\t;;\n");
}

static void put_bash(void)
{
	size_t count;
	const struct command *table = commands(&count);

	printf("# bash completion of mallow, made from its tables of commands and options\n"
	       "_mallow()\n{\n"
	       "\tlocal word=\"${COMP_WORDS[COMP_CWORD]}\" "
	       "previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
	       "\tlocal command=\"${COMP_WORDS[1]}\" words=\"\" options=\"\" files=any\n\n"
	       "\t[ \"$command\" = trace ] && command=\"trace dump\"\n"
	       "\tif [ \"$COMP_CWORD\" -eq 1 ] ||\n"
	       "\t\t{ [ \"$command\" = help ] && [ \"$COMP_CWORD\" -eq 2 ]; }; then\n"
	       "\t\twords=\"");
	for (size_t i = 0; i < count; i++)
		printf("%.*s ", first_word(&table[i]), table[i].name);
	printf("help --help --version\"\n\t\toptions=yes\n"
	       "\telif [ \"$previous\" = trace ] && [ \"$COMP_CWORD\" -eq 2 ]; then\n"
	       "\t\twords=dump\n\t\toptions=yes\n"
	       "\telse\n\tcase \"$command\" in\n");
	for (size_t i = 0; i < count; i++)
		put_bash_command(&table[i]);
	printf("\tesac\n\tfi\n"
	       "\tCOMPREPLY=()\n"
	       "\tif [ -n \"$options\" ] || [[ \"$word\" == -* ]]; then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
	       "\t\treturn\n"
	       "\telif [ \"$command\" = run ] || [ \"$command\" = live ]; then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -c -f -- \"$word\")\n"
	       "\telif [ \"$files\" = recordings ]; then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$word\"; "
	       "compgen -f -X '!*.mallow*' -- \"$word\")\n"
	       "\telse\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
	       "\tfi\n"
	       "\tif [ \"$command\" = top ] && [[ \"$word\" != */* ]]; then\n"
	       "\t\t# Processes with a table of what is live.\n"
	       "\t\twords=$(grep -lsF /memfd:mallow-live: /proc/[0-9]*/maps | cut -d/ -f3)\n"
	       "\t\tmapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W \"$words\" -- "
	       "\"$word\")\n"
	       "\tfi\n}\n"
	       "complete -o filenames -F _mallow mallow\n");
}

/* --- zsh --- */

static void put_zsh_option(const struct option_spec *spec)
{
	const char *argument = !spec->value ? "" : spec->flag ? "=-" : "=";

	printf(" \\\n\t\t\t");
	if (spec->letter)
		printf("'(-%c --%s)'{-%c%s,--%s%s}'", spec->letter, spec->name, spec->letter,
		       spec->value ? "+" : "", spec->name, argument);
	else
		printf("'%s--%s%s", spec->many ? "*" : "", spec->name, argument);
	putchar('[');
	put_quoted(spec->text, "[]\\");
	putchar(']');
	if (spec->value) {
		printf(spec->flag ? "::" : ":");
		put_quoted(spec->value, ":\\");
		if (spec->choices)
			printf(":(%s)", spec->choices);
		else
			printf(is_file(spec) ? ":_files" : ": ");
	}
	putchar('\'');
}

static void put_zsh_command(const struct command *command)
{
	const struct option_spec *spec;

	printf("\t(%.*s)\n", first_word(command), command->name);
	if (command->name[first_word(command)])
		printf("\t\tif (( CURRENT == 2 )); then\n\t\t\tcompadd dump\n\t\t\treturn\n\t\tfi\n"
		       "\t\tshift words\n\t\t(( CURRENT-- ))\n");
	printf("\t\t_arguments");
	FOR_OPTIONS(command, spec)
	put_zsh_option(spec);
	printf(" \\\n\t\t\t%s\n\t\t;;\n",
	       command->body->stop_at_operand
		       ? "'(-)1:program:_command_names -e' '*::argument: _normal'"
	       : takes_recordings(command) ? "'*:recording:_files -g \"*.mallow*(-.)\"'"
					   : "'*:operand:_files'");
}

static void put_zsh(void)
{
	size_t count;
	const struct command *table = commands(&count);

	printf("#compdef mallow\n"
	       "# zsh completion of mallow, made from its tables of commands and options\n"
	       "_mallow()\n{\n\tlocal -a names\n\n\tif (( CURRENT == 2 )); then\n"
	       "\t\tnames=(\n");
	for (size_t i = 0; i < count; i++) {
		printf("\t\t\t'%.*s:", first_word(&table[i]), table[i].name);
		put_quoted(table[i].text, "");
		printf("'\n");
	}
	printf("\t\t\t'help:what a command does'\n\t\t)\n"
	       "\t\t_describe command names\n\t\treturn\n\tfi\n"
	       "\tshift words\n\t(( CURRENT-- ))\n\tcase \"$words[1]\" in\n");
	for (size_t i = 0; i < count; i++)
		put_zsh_command(&table[i]);
	printf("\t(*)\n\t\t_default\n\t\t;;\n\tesac\n}\n_mallow \"$@\"\n");
}

/* --- fish --- */

/* Writes text inside single quotes. */
static void put_fish_quoted(const char *text)
{
	for (; *text; text++)
		printf(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
}

/* Writes the beginning of a line about what follows the command's name. */
static void put_fish_line(const struct command *command)
{
	const char *second = strchr(command->name, ' ');

	printf("complete -c mallow -n '__fish_seen_subcommand_from %.*s", first_word(command),
	       command->name);
	if (second)
		printf("; and __fish_seen_subcommand_from%s", second);
	printf("' ");
}

static void put_fish_option(const struct command *command, const struct option_spec *spec)
{
	put_fish_line(command);
	printf("-l %s", spec->name);
	if (spec->letter)
		printf(" -s %c", spec->letter);
	if (spec->value && !spec->flag)
		printf(is_file(spec) ? " -r -F" : " -x");
	if (spec->choices)
		printf(" -a '%s'", spec->choices);
	printf(" -d '");
	put_fish_quoted(spec->text);
	printf("'\n");
}

static void put_fish_command(const struct command *command)
{
	const struct option_spec *spec;
	int first = first_word(command);
	const char *second = strchr(command->name, ' ');

	printf("complete -c mallow -n __fish_use_subcommand -a %.*s -d '", first, command->name);
	put_fish_quoted(command->text);
	printf("'\n");
	if (second)
		printf("complete -c mallow -n '__fish_seen_subcommand_from %.*s; and not "
		       "__fish_seen_subcommand_from%s' -a%s\n",
		       first, command->name, second, second);
	FOR_OPTIONS(command, spec)
	put_fish_option(command, spec);
	put_fish_line(command);
	printf("-a '(%s)'\n",
	       command->body->stop_at_operand ? "__fish_complete_subcommand --fcs-skip=2"
	       : takes_recordings(command)    ? "__mallow_recordings"
					      : "__fish_complete_path (commandline -ct)");
}

static void put_fish(void)
{
	size_t count;
	const struct command *table = commands(&count);

	printf("# fish completion of mallow, made from its tables of commands and options\n"
	       "function __mallow_recordings\n"
	       "\t__fish_complete_path (commandline -ct) | string match -re "
	       "'^[^\\t]*(?:/|\\.mallow[^/\\t]*)(?:\\t|$)'\n"
	       "end\n"
	       "complete -c mallow -f\n");
	for (size_t i = 0; i < count; i++)
		put_fish_command(&table[i]);
}

bool completion_put(const char *shell)
{
	static const struct {
		const char *shell;
		void (*put)(void);
	} all[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};

	for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
		if (strcmp(shell, all[i].shell) != 0)
			continue;
		all[i].put();
		return true;
	}
	return false;
}
