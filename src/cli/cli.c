#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/shown_text.h"

/* Writes once, so that lines of several processes do not mix. A message that is too long is cut. */
int cli_error(int status, const char *format, ...)
{
	char text[4096], line[SHOWN_ESCAPED * sizeof(text) + 16], escaped[SHOWN_ESCAPED];
	const char *from = text, *piece;
	size_t length, left, size;
	va_list args;

	va_start(args, format);
	if (vsnprintf(text, sizeof(text), format, args) < 0)
		text[0] = 0;
	va_end(args);

	length = (size_t)snprintf(line, sizeof(line), "mallow: ");
	left = strlen(text);
	while ((size = shown_piece(&from, &left, escaped, &piece))) {
		memcpy(line + length, piece, size);
		length += size;
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
