/* mallow_thread_report() of the C API: what each thread allocated, and who freed it. */
#ifndef MALLOW_AGENT_REPORT_THREAD_REPORT_H
#define MALLOW_AGENT_REPORT_THREAD_REPORT_H

#include <mallow/mallow.h>

#include "agent/report/report_memory.h"

/* The program gets a pointer to the first member. */
struct thread_report {
	struct mallow_thread_report open;
	struct report_memory memory;
};

/*
 * Makes the report, all of it in `memory`, which the caller releases, also on failure. Needs
 * process->live. NULL: no memory.
 */
struct thread_report *thread_report_make(struct report_memory *memory);

/* Prints it as text, CSV or JSON: docs/api.md. 0, or -1: not all was written. */
int thread_report_print(const struct mallow_thread_report *report, int fd,
			enum mallow_format format);

#endif
