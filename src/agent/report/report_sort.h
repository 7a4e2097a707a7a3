/* Sorts a report's rows, without memory. */
#ifndef MALLOW_AGENT_REPORT_REPORT_SORT_H
#define MALLOW_AGENT_REPORT_REPORT_SORT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a comes before b; a strict order. */
typedef bool report_before(const void *a, const void *b, int by);

/* A heap sort of pointers to rows. */
void report_sort(const void **rows, size_t count, report_before *before, int by);

#endif
