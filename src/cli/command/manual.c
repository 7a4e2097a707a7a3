/*
 * Prints texts made from the tables of commands and options. At build time: `manual man` the man
 * page, `manual bash`, `manual zsh` and `manual fish` the completions. By hand: `manual filter` the
 * table in docs/filter.md, `manual tables` those in docs/sql.md. It is linked with the tool's
 * objects, so it cannot differ from what the tool accepts.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/filter/filter.h"
#include "cli/command/command.h"
#include "cli/command/completion.h"
#include "report/export/tables.h"

/*
 * Writes text of a man page. Backslashes, hyphens and leading dots mean something to roff, so they
 * are escaped.
 */
static void put_roff(const char *text)
{
	for (bool line_start = true; *text; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
		line_start = *text == '\n';
	}
}

static void put_option(const struct option_spec *spec)
{
	printf(".TP\n\\fB");
	if (spec->letter)
		printf("\\-%c\\fR, \\fB", spec->letter);
	printf("\\-\\-");
	put_roff(spec->name);
	printf("\\fR");
	if (spec->flag)
		printf("[=\\fI%s\\fR]", spec->value);
	else if (spec->value)
		printf(" \\fI%s\\fR", spec->value);
	putchar('\n');
	put_roff(spec->text);
	if (spec->choices) {
		printf("; one of: ");
		put_roff(spec->choices);
	} else if (spec->standard && *spec->standard) {
		printf(" [");
		put_roff(spec->standard);
		printf("]");
	}
	printf(".\n");
}

/* Writes paragraphs, which are separated by empty lines in the tables. */
static void put_details(const char *details)
{
	while (details && *details) {
		const char *end = strstr(details, "\n\n");
		char paragraph[2048];
		size_t length = end ? (size_t)(end - details) : strlen(details);

		printf(".PP\n");
		snprintf(paragraph, sizeof(paragraph), "%.*s", (int)length, details);
		put_roff(paragraph);
		putchar('\n');
		details = end ? end + 2 : NULL;
	}
}

/* Writes the options from first to end, by their ids. */
static void put_options(const struct command *command, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (command_option(command, i))
			put_option(command_option(command, i));
}

static void put_command(const struct command *command)
{
	printf(".SS mallow %s \\fR", command->name);
	put_roff(command->usage);
	printf("\n");
	put_roff(command->text);
	printf(".\n");
	put_options(command, 0, command->body->option_count);
	put_options(command, OPTIONS_COMMON, OPTIONS_COMMON + COMMON_OPTIONS);
	if (command->body->filters) {
		printf(".PP\n" COMMAND_FILTERS ":\n");
		put_options(command, command->body->option_count, command_option_count(command));
	}
	put_details(command->body->details);
}

static void put_man(void)
{
	size_t count;
	const struct command *table = commands(&count);

	printf(".TH MALLOW 1 \"\" \"mallow " MALLOW_VERSION "\" \"User Commands\"\n"
	       ".SH NAME\nmallow \\- where a program's memory goes\n"
	       ".SH SYNOPSIS\n.B mallow\n.I COMMAND\n[\\fIOPTION\\fR ...]\n"
	       ".SH DESCRIPTION\n"
	       "mallow records every allocation and every free of a program with its whole call\n"
	       "stack, without recompiling it, and shows which code the memory went to.\n"
	       "The library works alone, too:\n.PP\n"
	       ".B LD_PRELOAD=libmallow.so ./program\n"
	       ".SH COMMANDS\n");
	for (size_t i = 0; i < count; i++)
		put_command(&table[i]);
	printf(".SH EXIT STATUS\n"
	       "0 success; 1 failure; 2 wrong usage. \\fBmallow run\\fR and \\fBmallow live\\fR "
	       "exit\n"
	       "with the program's own status, or 126 or 127 if it cannot be run.\n"
	       ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours, whatever the terminal.\n"
	       ".TP\n.B MALLOW_TOKEN\nthe token of \\fBmallow serve\\fR, and of those that send "
	       "and receive recordings; rather use\n"
	       "\\-\\-token-file.\n"
	       ".TP\n.B MALLOW_LIBRARY\nthe agent to use instead of the installed one.\n");
}

/* Writes a cell of a table. What separates cells is escaped. */
static void put_cell(const char *text)
{
	for (; *text; text++)
		printf(*text == '|' ? "\\|" : "%c", *text);
}

static void put_filter_table(void)
{
	size_t count;
	const struct filter_parameter *parameters = filter_parameters(&count);

	printf("| condition | value | meaning |\n|---|---|---|\n");
	for (size_t i = 0; i < count; i++) {
		printf("| `%s` | ", parameters[i].name);
		put_cell(parameters[i].choices ? parameters[i].choices : parameters[i].value);
		printf(" | ");
		put_cell(parameters[i].text);
		printf(" |\n");
	}
}

/* The list of tables in docs/sql.md. */
static void put_tables(void)
{
	for (enum table table = 0; table < TABLE_COUNT; table++) {
		struct table_info info = table_info(table);

		printf("%s### %s\n\nA row is %s.\n\n| column | type | |\n|---|---|---|\n",
		       table ? "\n" : "", info.name, info.text);
		for (size_t i = 0; i < info.column_count; i++) {
			printf("| `%s` | %s | ", info.columns[i].name,
			       info.columns[i].type == PARQUET_TEXT ? "text" : "integer");
			put_cell(info.texts[i]);
			printf(" |\n");
		}
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "man") == 0)
		put_man();
	else if (argc == 2 && completion_put(argv[1]))
		;
	else if (argc == 2 && strcmp(argv[1], "filter") == 0)
		put_filter_table();
	else if (argc == 2 && strcmp(argv[1], "tables") == 0)
		put_tables();
	else
		return 2;
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
