/* Prints reports of the C API as text, CSV and JSON: docs/api.md. 0, or -1: not all was written. */
#ifndef MALLOW_AGENT_REPORT_REPORT_PRINT_H
#define MALLOW_AGENT_REPORT_REPORT_PRINT_H

#include <mallow/mallow.h>

int report_print_threads(const struct mallow_thread_report *report, int fd,
			 enum mallow_format format);
int report_print_sites(const struct mallow_site_report *report, int fd, enum mallow_format format);

#endif
