/*
 * libFuzzer target: bytes as a live table. Three counts and the mean of samples, a byte each, then
 * pieces: what part it is, its first number, how many bytes of it follow, and these. All that a
 * report looks at is written.
 */
#include <stdlib.h>
#include <string.h>

#include "../unit/live_writer.h"
#include "analysis/recording_memory.h"
#include "report/json/live_json.h"
#include "report/text/live_text.h"
#include "trace/live.h"

#define PIECES_MAX 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint16_t entry_sizes[] = {
	[LIVE_PART_NODES] = sizeof(struct live_node),
	[LIVE_PART_SITES] = sizeof(struct live_site),
	[LIVE_PART_THREADS] = sizeof(struct live_thread),
	[LIVE_PART_FREED] = sizeof(struct live_freed),
	[LIVE_PART_CELLS] = LIVE_CELL_SIZE,
	[LIVE_PART_FULLS] = sizeof(struct live_full),
};

/* Heads of regions of memory, of which the first bytes are given. */
static void put_heads(struct trace_writer *writer, uint8_t map, const uint8_t *data, size_t size)
{
	const uint8_t nothing = 0;

	live_writer_chunk(writer, LIVE_PART_HEADS, LIVE_LEAF_SIZE, 0, 1);
	trace_writer_poke(writer, writer->chunk + 88, (UINT64_C(1) << 33) + map, 8);
	live_writer_bytes(writer, data, size);
	for (size_t i = size; i < LIVE_LEAF_SIZE; i++)
		live_writer_bytes(writer, &nothing, 1);
}

/* Takes one off the bytes. */
static size_t put_piece(struct trace_writer *writer, const uint8_t *data, size_t size)
{
	uint8_t part = (uint8_t)(data[0] % LIVE_PART_FULLS + 1);
	size_t length = data[2] * 4u < size - 3 ? data[2] * 4u : size - 3;

	if (part == LIVE_PART_HEADS) {
		put_heads(writer, data[1], data + 3, length);
	} else {
		live_writer_chunk(writer, part, entry_sizes[part], data[1],
				  length / entry_sizes[part] + data[0] / 128);
		live_writer_bytes(writer, data + 3, length);
	}
	live_writer_close(writer);
	return length + 3;
}

static void write_table(struct trace_writer *writer, const uint8_t *data, size_t size)
{
	size_t at = 4;

	trace_writer_init(writer);
	trace_writer_chunk(writer, 0, 0, TRACE_WRITER_SLOT);
	for (uint64_t i = 1; i <= 4; i++)
		trace_writer_frame(writer, i, 0x1000 * i, 0);
	trace_writer_seal(writer);
	live_writer_header(writer, data[0], data[1], data[2] * 5u);
	trace_writer_poke(writer, 112, data[3], 8); // mean bytes between samples
	for (int i = 0; i < PIECES_MAX && at + 3 < size; i++)
		at += put_piece(writer, data + at, size - at);
}

static void write_views(const struct recording *recording, struct symbolized *symbolized)
{
	const struct live_view_options options = {.depth = 8, .name = "fuzz"};
	const struct style style = {.width = 80};
	struct live_view view;
	struct json_writer json;
	struct buf buf;

	if (live_view_create(recording, symbolized, &options, &view))
		abort();
	buf_init(&buf);
	json_init(&json, &buf, false);
	if (live_text_write(&buf, &style, &view) || live_json_write(&json, &view) ||
	    live_view_collapsed(&buf, &view) || buf_finish(&buf))
		abort();
	buf_deinit(&buf);
	live_view_deinit(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_writer writer;
	struct recording *recording;
	struct symbolized *symbolized;

	if (size < 4)
		return 0;
	write_table(&writer, data, size);
	// Whatever stands in a table, it is one.
	if (recording_open_memory("fuzz", writer.data, writer.size, RECORDING_BLOCKS, &recording) ||
	    symbolized_create(recording, NULL, &symbolized))
		abort();
	write_views(recording, symbolized);
	symbolized_destroy(symbolized);
	recording_close(recording);
	trace_writer_deinit(&writer);
	return 0;
}
