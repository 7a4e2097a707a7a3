#include "hosted/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct err {
	char *message;
	int number;
	bool is_static;
};

struct err err_static_no_memory = {
	.message = (char *)"out of memory",
	.number = ENOMEM,
	.is_static = true,
};

/* NULL: no memory. */
__attribute__((format(printf, 1, 0))) static char *format_text(const char *format,
							       va_list arguments)
{
	char *text;

	return vasprintf(&text, format, arguments) < 0 ? NULL : text;
}

/* Makes an error and takes ownership of message. message NULL: there was no memory for it. */
static struct err *from_message(char *message, int number)
{
	struct err *err = message ? malloc(sizeof(*err)) : NULL;

	if (!err) {
		free(message);
		return err_no_memory();
	}
	*err = (struct err){.message = message, .number = number};
	return err;
}

struct err *err_create(const char *format, ...)
{
	va_list arguments;
	char *message;

	va_start(arguments, format);
	message = format_text(format, arguments);
	va_end(arguments);
	return from_message(message, 0);
}

struct err *err_create_errno(int number, const char *format, ...)
{
	va_list arguments;
	char *message;
	struct err *err;

	va_start(arguments, format);
	message = format_text(format, arguments);
	va_end(arguments);
	err = from_message(message, number);
	if (err->is_static)
		return err;

	char text[128];
	char *whole;

	// GNU's strerror_r(): the text that it returns need not be in the buffer.
	if (asprintf(&whole, "%s: %s", err->message, strerror_r(number, text, sizeof(text))) < 0) {
		err_destroy(err);
		return err_no_memory();
	}
	free(err->message);
	err->message = whole;
	return err;
}

void err_destroy(struct err *err)
{
	if (!err || err->is_static)
		return;
	free(err->message);
	free(err);
}

struct err *err_prefix(struct err *err, const char *format, ...)
{
	va_list arguments;
	char *context, *whole;

	if (!err || err->is_static)
		return err;
	va_start(arguments, format);
	context = format_text(format, arguments);
	va_end(arguments);
	if (!context || asprintf(&whole, "%s: %s", context, err->message) < 0) {
		// Without memory for the context: the message alone is worth more than "out of
		// memory".
		free(context);
		return err;
	}
	free(context);
	free(err->message);
	err->message = whole;
	return err;
}

const char *err_message(const struct err *err)
{
	return err->message;
}

int err_number(const struct err *err)
{
	return err->number;
}

bool err_is_shortage(const struct err *err)
{
	int number = err ? err_number(err) : 0;

	return number == ENOMEM || number == EMFILE || number == ENFILE;
}
