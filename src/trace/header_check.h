/* Checks the header of a recording: docs/trace-format.md, section 2. */
#ifndef MALLOW_TRACE_HEADER_CHECK_H
#define MALLOW_TRACE_HEADER_CHECK_H

#include <stddef.h>

#include "trace/format.h"

enum header_verdict {
	HEADER_VALID,
	HEADER_FOREIGN, /* not a recording */
	HEADER_NEWER,   /* its major version is newer than this reader; *ret is set */
	HEADER_CUT,     /* a recording cut short within its header */
};

/*
 * data: the first size bytes of the file, at least sizeof(*ret) unless the file is shorter. Sets
 * *ret if the verdict is HEADER_VALID or HEADER_NEWER.
 */
enum header_verdict header_check(const void *data, size_t size, struct trace_header *ret);

#endif
