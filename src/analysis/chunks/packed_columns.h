/* The content of a packed chunk that is stored by columns: docs/trace-format.md, section 9.2. */
#ifndef MALLOW_ANALYSIS_CHUNKS_PACKED_COLUMNS_H
#define MALLOW_ANALYSIS_CHUNKS_PACKED_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"
#include "trace/columns.h"

/*
 * Decompresses the columns at data, and joins them to payloads, one after the other in content.
 * headers: the count headers that stand before data. content must have room bytes, into which the
 * payloads fit, and COLUMNS_SLACK more. *ret: how many bytes are right; fewer than room: damaged.
 */
struct err *packed_columns_read(const uint8_t *data, size_t size, const uint8_t *headers,
				uint32_t count, uint8_t *content, size_t room, size_t *ret);

#endif
