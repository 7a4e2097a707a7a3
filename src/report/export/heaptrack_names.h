/*
 * What heaptrack's lines of events refer to: strings, code positions and stacks, each written when
 * it is first needed, before the line that needs it.
 */
#ifndef MALLOW_REPORT_EXPORT_HEAPTRACK_NAMES_H
#define MALLOW_REPORT_EXPORT_HEAPTRACK_NAMES_H

#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

struct heaptrack_names;

/* The recording is that of symbolized, which must outlive it. */
struct err *heaptrack_names_create(struct symbolized *symbolized, struct heaptrack_names **ret);
/* Accepts NULL. */
void heaptrack_names_destroy(struct heaptrack_names *names);

/*
 * The number of a stack, by its innermost node or RECORDING_NONE; into buf come the lines that
 * define it, unless it was asked for before.
 */
struct err *heaptrack_names_stack(struct heaptrack_names *names, struct buf *buf, uint32_t node,
				  uint32_t *ret);

#endif
