/*
 * Turns a big-endian recording into a little-endian one, as all readers expect it. Only integers
 * of a fixed size are turned: docs/trace-format.md, section 2, offset 71. Records are bytes.
 */
#ifndef MALLOW_TRACE_BYTE_ORDER_H
#define MALLOW_TRACE_BYTE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BYTE_ORDER_HEADER 384u /* bytes of the header that have a meaning */

/* Turns a recording's header, if it is big-endian. Returns whether it was. */
bool byte_order_turn_header(uint8_t header[BYTE_ORDER_HEADER]);

/* Turns the first 88 bytes of a chunk, if its magic number is big-endian. Returns whether it was.
 */
bool byte_order_turn_head(uint8_t *chunk);

/*
 * Turns a whole chunk, of which size bytes are there, at least 88. A trailer that was right is so
 * afterwards.
 */
void byte_order_turn_chunk(uint8_t *chunk, size_t size);

/* Turns a whole recording: the header and all chunks. size: at least BYTE_ORDER_HEADER. */
void byte_order_turn_recording(uint8_t *bytes, size_t size);

#endif
