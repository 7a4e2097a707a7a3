#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* Writes once, so that lines of several processes do not mix. A message that is too long is cut. */
int cli_error(int status, const char *format, ...)
{
	char text[4096];
	char line[4 * sizeof(text) + 16];
	size_t length = 0;
	va_list args;

	va_start(args, format);
	if (vsnprintf(text, sizeof(text), format, args) < 0)
		text[0] = 0;
	va_end(args);

	length = (size_t)snprintf(line, sizeof(line), "mallow: ");
	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			length += (size_t)snprintf(line + length, sizeof(line) - length, "\\x%02x",
						   (unsigned char)*c);
		else
			line[length++] = *c;
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
