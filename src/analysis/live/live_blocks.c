#include "analysis/live/live_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/live/live_snapshot.h"
#include "base/bytes.h"
#include "hosted/cleanup.h"

/* A piece of shadow in the file, and the memory that it is of. */
struct piece {
	uint64_t start;
	uint64_t offset;
	uint32_t plane;
};

struct reading {
	VEC(struct piece) pieces;
	uint8_t *entries; /* of one of them: LIVE_PIECE_SIZE bytes */
	struct live_blocks *blocks;
	/*
	 * A small block that begins in the last unit of a piece has its second word in the next
	 * piece, which is the one of the memory from here on; owner 0: there is no such block.
	 */
	uint64_t here;
	uint32_t owner;
};

static void reading_deinit(struct reading *reading)
{
	vec_deinit(&reading->pieces);
	free(reading->entries);
}

/* The pieces of one chunk, as far as the file has them. */
static struct err *find_pieces(struct reading *reading, const struct byte_source *source,
			       struct chunk_extent extent, uint64_t file_size)
{
	uint64_t places[(LIVE_ARRAY_OFFSET - LIVE_CHUNK_OFFSET - sizeof(struct live_chunk)) / 8] = {
		0};
	struct live_chunk chunk;
	struct err *err = live_chunk_read(source, extent, &chunk);
	size_t got;

	if (err || chunk.part != LIVE_PART_BLOCKS || chunk.entry_size != LIVE_PIECE_SIZE)
		return err;
	err = byte_source_read(source, extent.offset + LIVE_CHUNK_OFFSET + sizeof(chunk), places,
			       sizeof(places), &got);
	for (size_t i = 0; !err && i < sizeof(places) / sizeof(places[0]); i++) {
		// Where the memory begins, plus 1 and the plane; 0: not in use.
		uint64_t plane = (places[i] & (LIVE_PIECE_SIZE - 1)) - 1;
		struct piece piece = {
			.start = places[i] & ~(uint64_t)(LIVE_PIECE_SIZE - 1),
			.offset = extent.offset + LIVE_ARRAY_OFFSET + i * LIVE_PIECE_SIZE,
			.plane = (uint32_t)plane,
		};

		if (i >= chunk.count || piece.offset + LIVE_PIECE_SIZE > file_size)
			break;
		if (plane < LIVE_PLANES && !vec_push(&reading->pieces, piece))
			err = err_no_memory();
	}
	return err;
}

static int compare_pieces(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	if (a->plane != b->plane)
		return a->plane < b->plane ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static struct err *add(struct reading *reading, uint64_t address, uint64_t size, uint32_t owner,
		       uint32_t time)
{
	struct found_block block = {
		.address = address,
		.size = size,
		.ticks = live_time_unpack(time),
		.site = owner >> LIVE_THREAD_BITS,
		.thread = owner & (LIVE_THREADS - 1),
	};

	return vec_push(&reading->blocks->list, block) ? NULL : err_no_memory();
}

static struct err *add_small(struct reading *reading, uint64_t address, uint32_t first,
			     uint32_t second)
{
	return add(reading, address, second & (LIVE_LARGE_MIN - 1), first,
		   second >> LIVE_SMALL_SIZE_BITS);
}

/* Two words a block, of which the second is the first of the next unit. */
static struct err *read_small(struct reading *reading, const struct piece *piece)
{
	unsigned int unit_bits = live_planes[piece->plane].unit_bits;
	const uint8_t *entries = reading->entries, *end = entries + LIVE_PIECE_SIZE;
	const uint8_t *at = entries;
	struct err *err = NULL;

	if (reading->owner && reading->here == piece->start) {
		err = add_small(reading, piece->start - (UINT64_C(1) << unit_bits), reading->owner,
				bytes_u32(at));
		at += 4;
	}
	reading->owner = 0;
	for (; !err && at < end; at += 4) {
		uint32_t first = bytes_u32(at);
		uint64_t address = piece->start + ((uint64_t)(at - entries) / 4 << unit_bits);

		if (!first)
			continue;
		if (at + 4 == end) {
			reading->owner = first;
			reading->here = piece->start + live_piece_span(piece->plane);
			break;
		}
		err = add_small(reading, address, first, bytes_u32(at + 4));
		at += 4;
	}
	return err;
}

/* One word of 8 bytes a block. */
static struct err *read_fine(struct reading *reading, const struct piece *piece)
{
	unsigned int unit_bits = live_planes[piece->plane].unit_bits;
	struct err *err = NULL;

	for (uint64_t at = 0; !err && at < LIVE_PIECE_SIZE; at += 8) {
		uint64_t word = bytes_u64(reading->entries + at);

		if ((uint32_t)word)
			err = add_small(reading, piece->start + (at / 8 << unit_bits),
					(uint32_t)word, (uint32_t)(word >> 32));
	}
	return err;
}

static struct err *read_large(struct reading *reading, const struct piece *piece)
{
	unsigned int unit_bits = live_planes[piece->plane].unit_bits;
	struct err *err = NULL;

	for (uint64_t at = 0; !err && at < LIVE_PIECE_SIZE; at += sizeof(struct live_large)) {
		uint64_t unit = piece->start + (at / sizeof(struct live_large) << unit_bits);
		struct live_large large;

		memcpy(&large, reading->entries + at, sizeof(large));
		if (large.owner)
			err = add(reading,
				  unit + (large.extent & ((1u << LIVE_START_BITS) - 1)) * 8,
				  large.extent >> LIVE_START_BITS, large.owner, large.time);
	}
	return err;
}

static struct err *read_piece(struct reading *reading, const struct byte_source *source,
			      const struct piece *piece)
{
	size_t got;
	struct err *err =
		byte_source_read(source, piece->offset, reading->entries, LIVE_PIECE_SIZE, &got);

	if (err || got < LIVE_PIECE_SIZE)
		return err;
	switch (piece->plane) {
	case LIVE_PLANE_SMALL:
		return read_small(reading, piece);
	case LIVE_PLANE_FINE:
		return read_fine(reading, piece);
	default:
		return read_large(reading, piece);
	}
}

struct err *live_blocks_read(const struct byte_source *source, const struct chunk_index *index,
			     struct live_blocks *ret)
{
	cleanup(reading_deinit) struct reading reading = {
		.entries = malloc(LIVE_PIECE_SIZE),
		.blocks = ret,
	};
	struct err *err = reading.entries ? NULL : err_no_memory();

	for (size_t i = 0; !err && i < index->live.count; i++)
		err = find_pieces(&reading, source, index->live.items[i], index->file_size);
	if (reading.pieces.count)
		qsort(reading.pieces.items, reading.pieces.count, sizeof(*reading.pieces.items),
		      compare_pieces);
	for (size_t i = 0; !err && i < reading.pieces.count; i++)
		err = read_piece(&reading, source, &reading.pieces.items[i]);
	return err;
}
