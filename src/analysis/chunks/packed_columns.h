/* The content of a packed chunk that is stored by columns: docs/trace-format.md, section 9.2. */
#ifndef MALLOW_ANALYSIS_CHUNKS_PACKED_COLUMNS_H
#define MALLOW_ANALYSIS_CHUNKS_PACKED_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"
#include "trace/columns.h"

/*
 * data: what stands behind the headers, which are count headers at headers. Makes their payloads
 * one after the other, in room bytes, which they fit into, and COLUMNS_SLACK bytes more. *ret
 * receives how many bytes are right: all of room, or it is damaged.
 */
struct err *packed_columns_read(const uint8_t *data, size_t size, const uint8_t *headers,
				uint32_t count, uint8_t *content, size_t room, size_t *ret);

#endif
