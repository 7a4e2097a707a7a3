/*
 * Writes live tables for tests, from docs/trace-format.md, section 10, into a recording that a
 * trace_writer has begun.
 *
 *	trace_writer_init(&writer);
 *	…                                               // a chunk with frame records
 *	live_writer_header(&writer, 3, 2, 1);           // numbers given, 0 included
 *	live_writer_chunk(&writer, 1, 12, 0, 3);        // nodes …
 *	live_writer_node(&writer, 1, 0, 7);
 *	live_writer_node(&writer, 2, 1, 8);
 *	live_writer_close(&writer);
 */
#ifndef MALLOW_TESTS_LIVE_WRITER_H
#define MALLOW_TESTS_LIVE_WRITER_H

#include "trace_writer.h"

/* Makes the recording one with a table. */
void live_writer_header(struct trace_writer *writer, uint32_t nodes, uint32_t sites,
			uint32_t threads);

/* Opens a chunk of that part, enum live_part; its entries follow, by their numbers or as bytes. */
void live_writer_chunk(struct trace_writer *writer, uint32_t part, uint32_t entry_size,
		       uint64_t first, uint64_t count);
/* Bytes behind those of the chunk so far. */
void live_writer_bytes(struct trace_writer *writer, const void *data, size_t size);
/* Pads it. */
void live_writer_close(struct trace_writer *writer);

#endif
