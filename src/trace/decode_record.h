/* The bodies of the records of docs/trace-format.md, section 4.2. Used by decode.c alone. */
#ifndef MALLOW_TRACE_DECODE_RECORD_H
#define MALLOW_TRACE_DECODE_RECORD_H

#include "trace/cursor.h"
#include "trace/decode.h"

/*
 * Fills *event from the body; event->kind is set already. False: a kind that is to be skipped. If
 * fields are missing, the cursor has failed.
 */
bool decode_record(struct cursor *body, uint64_t base, struct decode_event *event);

#endif
