/* The bodies of the records of docs/trace-format.md, section 4.2. Used by decode.c alone. */
#ifndef MALLOW_TRACE_DECODE_RECORD_H
#define MALLOW_TRACE_DECODE_RECORD_H

#include "trace/cursor.h"
#include "trace/decode.h"

/*
 * event->kind is set; fills the rest from the body. False: a kind to skip. Where fields are
 * missing the cursor has failed.
 */
bool decode_record(struct cursor *body, uint64_t base, struct decode_event *event);

#endif
