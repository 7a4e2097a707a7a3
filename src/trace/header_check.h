/* The first page of a recording: docs/trace-format.md, section 2. */
#ifndef MALLOW_TRACE_HEADER_CHECK_H
#define MALLOW_TRACE_HEADER_CHECK_H

#include <stddef.h>

#include "trace/format.h"

enum header_verdict {
	HEADER_VALID,
	HEADER_FOREIGN, /* not a recording */
	HEADER_NEWER,   /* of a major version that this reader does not know; *ret is set */
	HEADER_CUT,     /* a recording cut short within its header */
};

/* data: the first bytes of the file, at least sizeof(*ret) of them if it has so many. */
enum header_verdict header_check(const void *data, size_t size, struct trace_header *ret);

#endif
