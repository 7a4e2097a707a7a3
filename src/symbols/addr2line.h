/*
 * Names from another program that understands addr2line's options, for program files in a format
 * that we do not read. It runs as long as names are asked for: an address goes to its standard
 * input, the answer comes from its standard output (addr2line(1), -a -f -i).
 */
#ifndef MALLOW_SYMBOLS_ADDR2LINE_H
#define MALLOW_SYMBOLS_ADDR2LINE_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/cleanup.h"
#include "symbols/symbolizer.h"

struct addr2line;

/*
 * Starts it by the shell: command may have options of its own. program: the file with the names.
 * Belongs to one thread.
 */
struct err *addr2line_start(const char *command, const char *program, struct addr2line **ret);
/* Ends it. Accepts NULL. */
void addr2line_end(struct addr2line *tool);
CLEANUP_DEFINE(struct addr2line *, addr2line_end);

/*
 * As symbol_module_find(). The symbols live until addr2line_end(). An error: the program has ended,
 * or does not answer.
 */
struct err *addr2line_find(struct addr2line *tool, uint64_t address, const struct symbol **ret,
			   size_t *count);

#endif
