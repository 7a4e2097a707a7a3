/*
 * The strings, code positions and stacks that heaptrack's other lines refer to. Each is written
 * when it is first needed, before the line that needs it.
 */
#ifndef MALLOW_REPORT_EXPORT_HEAPTRACK_NAMES_H
#define MALLOW_REPORT_EXPORT_HEAPTRACK_NAMES_H

#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

struct heaptrack_names;

/* For the recording of symbolized, which must outlive it. */
struct err *heaptrack_names_create(struct symbolized *symbolized, struct heaptrack_names **ret);
/* Accepts NULL. */
void heaptrack_names_destroy(struct heaptrack_names *names);

/*
 * *ret: the number of a stack. node: its innermost, or RECORDING_NONE. The first time, the lines
 * that define it are appended to buf.
 */
struct err *heaptrack_names_stack(struct heaptrack_names *names, struct buf *buf, uint32_t node,
				  uint32_t *ret);

#endif
