#include "live_writer.h"

#include <string.h>

void live_writer_header(struct trace_writer *writer, uint32_t nodes, uint32_t sites,
			uint32_t threads)
{
	trace_writer_poke(writer, 10, 4, 2);
	trace_writer_poke(writer, 72, 32, 4);
	trace_writer_poke(writer, 256, nodes, 4);
	trace_writer_poke(writer, 260, sites, 4);
	trace_writer_poke(writer, 264, threads, 4);
}

static void pad(struct trace_writer *writer, size_t unit)
{
	while ((writer->size - writer->chunk) % unit)
		trace_writer_byte(writer, 0);
}

void live_writer_chunk(struct trace_writer *writer, uint32_t part, uint32_t entry_size,
		       uint64_t first, uint64_t count)
{
	writer->chunk = writer->size;
	for (int i = 0; i < 128; i++)
		trace_writer_byte(writer, 0);
	memcpy(writer->data + writer->chunk, "\xd1MLWCHK\xa7", 8);
	trace_writer_poke(writer, writer->chunk + 8, 5, 4);
	trace_writer_poke(writer, writer->chunk + 16, UINT32_MAX, 4);
	trace_writer_poke(writer, writer->chunk + 20, 1, 4);
	trace_writer_poke(writer, writer->chunk + 64, part, 4);
	trace_writer_poke(writer, writer->chunk + 68, entry_size, 4);
	trace_writer_poke(writer, writer->chunk + 72, first, 8);
	trace_writer_poke(writer, writer->chunk + 80, count, 8);
	pad(writer, 4096);
}

void live_writer_bytes(struct trace_writer *writer, const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		trace_writer_byte(writer, ((const uint8_t *)data)[i]);
}

void live_writer_close(struct trace_writer *writer)
{
	pad(writer, 4096);
	trace_writer_poke(writer, writer->chunk + 12, writer->size - writer->chunk, 4);
}
