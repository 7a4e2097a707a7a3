/*
 * Names for addresses of this process, for reports that it prints itself: from the symbol tables of
 * the modules' own files. No loader is asked and nothing is allocated by malloc. A file that is not
 * the one that was loaded (by its build id) has no names.
 *
 * For one thread; not for signal handlers.
 */
#ifndef MALLOW_AGENT_REPORT_REPORT_NAMES_H
#define MALLOW_AGENT_REPORT_REPORT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/report/report_memory.h"

struct report_module;

/* Zero: empty. */
struct report_names {
	struct report_memory memory;
	struct report_module *modules;
};

struct report_name {
	const char *module;   /* path, "" where there is none */
	uint64_t address;     /* in the module's file: link-time address */
	const char *function; /* NULL: no symbol tells; as the symbol table has it */
	uint64_t offset;      /* in the function */
};

/* Of the code that returns to pc. What it points to lasts until the release. */
struct report_name report_names_find(struct report_names *names, uint64_t pc);

void report_names_release(struct report_names *names);

#endif
