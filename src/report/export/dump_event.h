/* One record as one line of `trace dump`, from the operation on. */
#ifndef MALLOW_REPORT_EXPORT_DUMP_EVENT_H
#define MALLOW_REPORT_EXPORT_DUMP_EVENT_H

#include "hosted/buf.h"
#include "trace/decode.h"

/* "malloc 0x5555 size=100 usable=104", without stack and newline. */
void dump_event_put(struct buf *buf, const struct decode_event *event);

/*
 * Whether the record belongs to the stack as it stands. A free does where frees have stacks
 * (TRACE_FREE_STACKS); else what stands is the stack of the event before it.
 */
bool dump_event_has_stack(const struct decode_event *event, bool free_stacks);

#endif
