#include "trace/byte_order.h"

#include "base/bytes.h"
#include "trace/checksum.h"
#include "trace/chunk_check.h"
#include "trace/live.h"

/* `count` integers of `width` bytes; width 1: bytes that are no numbers. */
struct run {
	uint8_t width, count;
};

#define RUNS(...) ((const struct run[]){__VA_ARGS__, {0, 0}})

/* Turns the integers of one struct. Returns where it ends. */
static uint8_t *turn_struct(uint8_t *at, const struct run *runs)
{
	for (; runs->width; runs++) {
		for (unsigned int i = 0; i < runs->count; i++, at += runs->width) {
			for (unsigned int j = 0; j < runs->width / 2u; j++) {
				uint8_t byte = at[j];

				at[j] = at[runs->width - 1 - j];
				at[runs->width - 1 - j] = byte;
			}
		}
	}
	return at;
}

static const struct run header_runs[] = {
	{1, 8}, {2, 2}, {4, 1}, {1, 32}, {4, 2}, {8, 1},  {4, 1},
	{1, 4}, {4, 2}, {8, 3}, {4, 2},  {8, 2}, {8, 16}, /* struct trace_header */
	{4, 4}, {8, 3}, {4, 2},                           /* struct live_header */
	{4, 2}, {8, 1}, {4, 2},         /* streams, guesses, struct trace_attacher */
	{8, 5}, {4, 2}, {8, 1}, {0, 0}, /* struct trace_memory, size */
};
static_assert(TRACE_SIZE_OFFSET + 8 == BYTE_ORDER_HEADER, "section 2");

bool byte_order_turn_header(uint8_t header[BYTE_ORDER_HEADER])
{
	uint8_t *order = header + offsetof(struct trace_header, byte_order);

	if (*order != TRACE_BIG_ENDIAN)
		return false;
	turn_struct(header, header_runs);
	*order = TRACE_LITTLE_ENDIAN;
	return true;
}

bool byte_order_turn_head(uint8_t *chunk)
{
	const uint8_t *end;

	if (__builtin_bswap64(bytes_u64(chunk)) != TRACE_CHUNK_MAGIC)
		return false;
	end = turn_struct(chunk, RUNS({8, 1}, {4, 4}, {8, 1}));
	if (bytes_u32(chunk + offsetof(struct trace_chunk, kind)) == TRACE_CHUNK_LIVE)
		turn_struct(chunk + (end - chunk), RUNS({8, 2}, {1, 8}, {8, 1}, {4, 2}, {8, 2}));
	else
		turn_struct(chunk + (end - chunk), RUNS({8, 3}, {4, 2}));
	return true;
}

static const struct run *runs_of(uint32_t part)
{
	static const struct run nodes[] = {{4, 3}, {0, 0}};
	static const struct run sites[] = {{8, 6}, {4, 4}, {0, 0}};
	static const struct run threads[] = {{8, 2}, {4, 2}, {1, 16}, {8, 3}, {0, 0}};
	static const struct run freed[] = {{8, 2}, {0, 0}};
	static const struct run heads[] = {{4, LIVE_LEAF_HEADS - 1}, {4, 1}, {0, 0}};
	static const struct run cells[] = {{8, LIVE_CELL_WORDS}, {0, 0}};
	static const struct run fulls[] = {{4, 2}, {8, LIVE_FULL_ENTRIES}, {0, 0}};
	static const struct run blocks[] = {{8, 3}, {0, 0}};

	switch (part) {
	case LIVE_PART_NODES:
		return nodes;
	case LIVE_PART_SITES:
		return sites;
	case LIVE_PART_THREADS:
		return threads;
	case LIVE_PART_FREED:
		return freed;
	case LIVE_PART_HEADS:
		return heads;
	case LIVE_PART_CELLS:
		return cells;
	case LIVE_PART_FULLS:
		return fulls;
	case LIVE_PART_BLOCKS:
		return blocks;
	}
	return NULL;
}

static size_t size_of(const struct run *runs)
{
	size_t size = 0;

	for (; runs->width; runs++)
		size += (size_t)runs->width * runs->count;
	return size;
}

static uint64_t checksum_of(const uint8_t *chunk, size_t size)
{
	const size_t head = sizeof(struct trace_chunk);

	return trace_checksum(chunk, head, chunk + head, size - head - TRACE_TRAILER_SIZE);
}

/* Whether a chunk that is not turned yet is sealed, all of it is there, and its trailer is right.
 */
static bool is_sealed(const uint8_t *chunk, size_t size)
{
	const struct trace_chunk *header = (const void *)chunk;

	return __builtin_bswap32(bytes_u32(&header->flags)) == TRACE_CHUNK_SEALED &&
	       __builtin_bswap32(bytes_u32(&header->size)) == size &&
	       __builtin_bswap64(bytes_u64(chunk + size - TRACE_TRAILER_SIZE)) ==
		       checksum_of(chunk, size);
}

void byte_order_turn_chunk(uint8_t *chunk, size_t size)
{
	struct live_chunk *live = (void *)(chunk + LIVE_CHUNK_OFFSET);
	size_t array = LIVE_ARRAY_OFFSET;
	bool sealed = is_sealed(chunk, size);
	const struct run *runs;

	if (!byte_order_turn_head(chunk))
		return;
	if (sealed)
		bytes_put_u64(chunk + size - TRACE_TRAILER_SIZE, checksum_of(chunk, size));
	if (bytes_u32(chunk + offsetof(struct trace_chunk, kind)) != TRACE_CHUNK_LIVE)
		return;
	runs = runs_of(bytes_u32(&live->part));
	if (!runs || size_of(runs) != bytes_u32(&live->entry_size))
		return;
	for (size_t at = LIVE_CHUNK_OFFSET + sizeof(*live);
	     at + 8 <= size && at < LIVE_ARRAY_OFFSET; at += 8) {
		turn_struct(chunk + at, RUNS({8, 1}));
		if (runs != runs_of(LIVE_PART_HEADS)) {
			if (bytes_u64(chunk + at))
				array = bytes_u64(chunk + at);
			break;
		}
	}
	for (; array < size && size - array >= size_of(runs); array += size_of(runs))
		turn_struct(chunk + array, runs);
}

void byte_order_turn_recording(uint8_t *bytes, size_t size)
{
	uint8_t head[LIVE_CHUNK_OFFSET + sizeof(struct live_chunk)];
	size_t step;

	byte_order_turn_header(bytes);
	for (size_t at = TRACE_PAGE; at + sizeof(head) <= size; at += step) {
		struct trace_chunk chunk;
		const char *expected;

		step = TRACE_PAGE;
		memcpy(head, bytes + at, sizeof(head));
		if (!byte_order_turn_head(head) ||
		    chunk_check(head, &chunk, &expected) != CHUNK_VALID)
			continue;
		// A file may end within its last chunk.
		step = chunk.size <= size - at ? chunk.size : size - at;
		byte_order_turn_chunk(bytes + at, step);
	}
}
