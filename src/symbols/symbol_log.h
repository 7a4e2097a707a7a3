/*
 * Why names are missing, for those who ask (`--log debug`): for each module the places where its
 * files were looked for, and what came of each.
 *
 *	names of /tmp/a: /usr/lib/debug/.build-id/f7/4f….debug: No such file or directory
 *	names of /tmp/a: /tmp/a has an empty .gnu_debugdata
 *
 * Code deep below a look-up logs without being told the module: symbol_log_module() sets it for the
 * thread, one at a time.
 */
#ifndef MALLOW_SYMBOLS_SYMBOL_LOG_H
#define MALLOW_SYMBOLS_SYMBOL_LOG_H

#include "hosted/err.h"

/*
 * Has each line given to print, which may be called by several threads at once, and must show the
 * line's hidden characters. Before any symbolizer is made; NULL, as at first: nothing is logged.
 */
void symbol_log_to(void (*print)(const char *line));

/*
 * What this thread logs from now on is about the module of that path, which must live until the
 * call with NULL. After that nothing is logged: files are opened for other reasons, too.
 */
void symbol_log_module(const char *path);

void symbol_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Logs why a file was refused, and destroys the error. */
void symbol_log_refusal(struct err *err);

#endif
