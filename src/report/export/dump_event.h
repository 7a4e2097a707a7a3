/* One record as one line of `trace dump`, beginning with the operation. */
#ifndef MALLOW_REPORT_EXPORT_DUMP_EVENT_H
#define MALLOW_REPORT_EXPORT_DUMP_EVENT_H

#include "hosted/buf.h"
#include "trace/decode.h"

/* Writes "malloc 0x5555 size=100 usable=104", without stack and newline. */
void dump_event_put(struct buf *buf, const struct decode_event *event);

/*
 * Whether the stream's current stack is the record's own. For a free that is so only if frees have
 * stacks (free_stacks: TRACE_FREE_STACKS); if not, the current stack is that of an earlier event.
 */
bool dump_event_has_stack(const struct decode_event *event, bool free_stacks);

#endif
