#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/shown_text.h"

/* Writes once, so that lines of several processes do not mix. A message that is too long is cut. */
int cli_error(int status, const char *format, ...)
{
	char text[4096];
	char line[SHOWN_ESCAPED * sizeof(text) + 16];
	size_t length, left, hidden;
	va_list args;

	va_start(args, format);
	if (vsnprintf(text, sizeof(text), format, args) < 0)
		text[0] = 0;
	va_end(args);

	length = (size_t)snprintf(line, sizeof(line), "mallow: ");
	left = strlen(text);
	for (const char *from = text; left; from += hidden, left -= hidden) {
		size_t run = shown_run(from, left, &hidden);

		memcpy(line + length, from, run);
		length += run;
		from += run;
		left -= run;
		for (size_t i = 0; i < hidden; i++, length += SHOWN_ESCAPED)
			shown_escape(line + length, from[i]);
	}
	line[length++] = '\n';
	fflush(stdout);
	if (write(STDERR_FILENO, line, length) < 0)
		return status; /* there is nowhere left to tell */
	return status;
}

int cli_report_err(struct err *err)
{
	if (!err)
		return CLI_OK;
	cli_error(CLI_FAILED, "%s", err_message(err));
	err_destroy(err);
	return CLI_FAILED;
}
