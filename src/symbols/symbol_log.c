#include "symbols/symbol_log.h"

#include <stdarg.h>

#include "hosted/buf.h"
#include "hosted/cleanup.h"

static void (*print_line)(const char *line);
static _Thread_local const char *module;

void symbol_log_to(void (*print)(const char *line))
{
	print_line = print;
}

void symbol_log_module(const char *path)
{
	module = path;
}

void symbol_log(const char *format, ...)
{
	cleanup(buf_deinit) struct buf line = BUF_EMPTY;
	auto_free char *text = NULL;
	va_list arguments;
	int size;

	if (!print_line || !module)
		return;
	va_start(arguments, format);
	size = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (size < 0) {
		text = NULL; // vasprintf leaves it undefined
		return;
	}
	buf_printf(&line, "names of %s: %s", module, text);
	if (buf_string(&line))
		print_line(buf_string(&line));
}

void symbol_log_refusal(struct err *err)
{
	if (err)
		symbol_log("%s", err_message(err));
	err_destroy(err);
}
