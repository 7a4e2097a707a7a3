/*
 * Names for addresses of this process, for reports that it prints itself. They come from the symbol
 * tables of the modules' files. The loader is not asked, and malloc not called. A file that is not
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
	const char *module;   /* path; "" if there is no module */
	uint64_t address;     /* link-time address in the module's file */
	const char *function; /* as in the symbol table (mangled); NULL: not known */
	uint64_t offset;      /* in the function */
};

/* The name of the code that makes the call before pc. Its strings last until the release. */
struct report_name report_names_find(struct report_names *names, uint64_t pc);

void report_names_release(struct report_names *names);

#endif
