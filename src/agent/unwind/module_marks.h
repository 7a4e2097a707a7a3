/*
 * ARM: where the functions of a module begin (cfi/scan.h): made once for each module, of its calls,
 * its unwind tables, its relocations and its exported symbols, in memory that is never returned.
 */
#ifndef MALLOW_AGENT_UNWIND_MODULE_MARKS_H
#define MALLOW_AGENT_UNWIND_MODULE_MARKS_H

#include <stdbool.h>

#include "agent/unwind/module_find.h"
#include "cfi/scan.h"

/*
 * Fills in the marks of a module's text, and what its code is. They are made now if need be, some
 * ten milliseconds for the largest: only by unwind_run_slow(). false: no memory, or there were too
 * many modules.
 */
bool module_marks_get(const struct module_text *module, struct scan_text *text);

/* Forgets those of text in [start, end). */
void module_marks_forget(uint64_t start, uint64_t end);

#endif
