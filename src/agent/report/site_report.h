/* mallow_site_report() of the C API: what each call stack allocated. */
#ifndef MALLOW_AGENT_REPORT_SITE_REPORT_H
#define MALLOW_AGENT_REPORT_SITE_REPORT_H

#include <mallow/mallow.h>

#include "agent/report/report_memory.h"

/* The program gets a pointer to the first member. */
struct site_report {
	struct mallow_site_report open;
	struct report_memory memory;
};

typedef int site_report_filter(const struct mallow_site *site, void *argument);

/*
 * Makes the report, all of it in `memory`, which the caller releases, also on failure. Needs
 * process->live. filter NULL: all sites. Returns NULL if there is no memory.
 */
struct site_report *site_report_make(struct report_memory *memory, site_report_filter *filter,
				     void *argument);

/* Prints it as text, CSV or JSON: docs/api.md. 0, or -1: not all was written. */
int site_report_print(const struct mallow_site_report *report, int fd, enum mallow_format format);

#endif
