#include "cli/command/help.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"

#define HELP_WIDTH  80
#define HELP_COLUMN 22 /* the column at which texts of options begin */

/* How many columns a text takes: its code points, because help has no wide characters. */
static size_t columns(const char *text, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

/* Writes the words of text from that column on, wrapped; further lines are indented. */
static void wrap(struct buf *buf, const char *text, size_t indent, size_t column)
{
	while (*text) {
		size_t length = strcspn(text, " \n");
		size_t width = columns(text, length);

		if (column > indent && column + 1 + width > HELP_WIDTH) {
			buf_char(buf, '\n');
			buf_repeat(buf, ' ', indent);
			column = indent;
		} else if (column > indent) {
			buf_char(buf, ' ');
			column++;
		}
		buf_put(buf, text, length);
		column += width;
		text += length;
		if (text[0] == '\n') { /* an empty line ends a paragraph; a single newline stays */
			buf_text(buf, text[1] == '\n' ? "\n\n" : "\n");
			text += text[1] == '\n' ? 2 : 1;
			buf_repeat(buf, ' ', *text ? indent : 0);
			column = indent;
		}
		if (*text == ' ')
			text++;
	}
	buf_char(buf, '\n');
}

static void put_option(struct buf *buf, const struct option_spec *spec)
{
	char left[96];
	char text[512];
	size_t width;

	snprintf(left, sizeof(left), "  %c%c%s --%s%s%s%s", spec->letter ? '-' : ' ',
		 spec->letter ? spec->letter : ' ', spec->letter ? "," : " ", spec->name,
		 spec->flag    ? "[="
		 : spec->value ? " "
			       : "",
		 spec->value ? spec->value : "", spec->flag ? "]" : "");
	if (spec->choices)
		snprintf(text, sizeof(text), "%s; one of: %s", spec->text, spec->choices);
	else if (spec->standard && *spec->standard)
		snprintf(text, sizeof(text), "%s [%s]", spec->text, spec->standard);
	else
		snprintf(text, sizeof(text), "%s", spec->text);

	width = columns(left, strlen(left));
	buf_text(buf, left);
	if (width + 2 > HELP_COLUMN) {
		buf_char(buf, '\n');
		width = 0;
	}
	buf_repeat(buf, ' ', HELP_COLUMN - width);
	wrap(buf, text, HELP_COLUMN, HELP_COLUMN);
}

/* Writes the options from first to end, by their ids. */
static void put_options(struct buf *buf, const struct command *command, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (command_option(command, i))
			put_option(buf, command_option(command, i));
}

int help_command(const struct command *command)
{
	const struct command_body *body = command->body;
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;

	buf_init_fd(&buf, STDOUT_FILENO, "standard output");
	buf_printf(&buf, "mallow %s: %s\n\nusage: mallow %s %s\n\n", command->name, command->text,
		   command->name, command->usage ? command->usage : "");
	put_options(&buf, command, 0, body->option_count);
	put_options(&buf, command, OPTIONS_COMMON, OPTIONS_COMMON + COMMON_OPTIONS);
	if (body->details) {
		buf_char(&buf, '\n');
		wrap(&buf, body->details, 0, 0);
	}
	if (body->filters) {
		buf_text(&buf, "\n" COMMAND_FILTERS ":\n\n");
		put_options(&buf, command, body->option_count, command_option_count(command));
	}
	return cli_report_err(buf_finish(&buf));
}

int help_beginning(void)
{
	static const char text[] =
		"mallow " MALLOW_VERSION ": where a program's memory goes\n\n"
		"  it takes too much, or leaks   mallow run ./program\n"
		"  it is running already         mallow top PID, or mallow attach PID\n"
		"  it is dead, and left a core   mallow core ./program CORE\n"
		"  it grew since the last build  mallow diff BEFORE AFTER, and in CI mallow "
		"check\n\n"
		"  what was recorded last        mallow report, in a browser mallow serve "
		"--open\n\n"
		"All commands: mallow --help. Options of one: mallow COMMAND --help.\n";

	return fputs(text, stdout) < 0 || fflush(stdout) != 0 ? CLI_FAILED : CLI_USAGE;
}

int help_overview(void)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	size_t count;
	const struct command *table = commands(&count);

	buf_init_fd(&buf, STDOUT_FILENO, "standard output");
	buf_text(&buf, "mallow " MALLOW_VERSION ": where a program's memory goes\n\n"
		       "usage: mallow COMMAND [OPTION…] …\n\n");
	for (size_t i = 0; i < count; i++)
		buf_printf(&buf, "  %-12s %s\n", table[i].name, table[i].text);
	buf_text(&buf, "\n  mallow COMMAND --help   options of a command\n"
		       "  mallow --version        the version\n\n"
		       "Begin with:  mallow run ./program\n");
	return cli_report_err(buf_finish(&buf));
}
