#include <string.h>

#include "analysis/live/live_snapshot.h"
#include "base/bytes.h"
#include "hosted/cleanup.h"

/* What the shadow of a piece of memory says, which begins at start. */
struct piece {
	uint64_t start;
	const uint8_t *entries; /* LIVE_PIECE_SIZE bytes */
	struct live_plane plane;
	struct live_snapshot *snapshot;
};

static struct err *add(const struct piece *piece, uint64_t address, uint64_t size, uint32_t owner,
		       uint32_t time)
{
	struct found_block block = {
		.address = address,
		.size = size,
		.ticks = live_time_unpack(time),
		.site = owner >> LIVE_THREAD_BITS,
		.thread = owner & (LIVE_THREADS - 1),
	};

	return vec_push(&piece->snapshot->blocks, block) ? NULL : err_no_memory();
}

/* Two words, the first of which is not 0 where a block begins. */
static struct err *take_small(const struct piece *piece, uint64_t address, uint32_t first,
			      uint32_t second)
{
	return add(piece, address, second & (LIVE_LARGE_MIN - 1), first,
		   second >> LIVE_SMALL_SIZE_BITS);
}

/* Entries of 4 bytes of which a block has two, or of 8. */
static struct err *read_small(const struct piece *piece)
{
	size_t entry = (size_t)1 << piece->plane.entry_bits;
	struct err *err = NULL;

	for (size_t at = 0; !err && at + 8 <= LIVE_PIECE_SIZE; at += entry) {
		uint32_t first = bytes_u32(piece->entries + at);
		uint64_t unit = at / entry;

		if (!first)
			continue;
		err = take_small(piece, piece->start + (unit << piece->plane.unit_bits), first,
				 bytes_u32(piece->entries + at + 4));
		at += 8 - entry;
	}
	return err;
}

static struct err *read_large(const struct piece *piece)
{
	struct err *err = NULL;

	for (size_t at = 0; !err && at < LIVE_PIECE_SIZE; at += sizeof(struct live_large)) {
		uint64_t unit = at / sizeof(struct live_large);
		struct live_large large;

		memcpy(&large, piece->entries + at, sizeof(large));
		if (!large.owner)
			continue;
		err = add(piece,
			  piece->start + (unit << piece->plane.unit_bits) +
				  (large.extent & ((1u << LIVE_START_BITS) - 1)) * 8,
			  large.extent >> LIVE_START_BITS, large.owner, large.time);
	}
	return err;
}

/* place: where the memory begins, plus 1 and the plane's number; 0: not in use. */
static struct err *read_piece(uint64_t place, const uint8_t *entries,
			      struct live_snapshot *snapshot)
{
	uint64_t number = (place & (LIVE_PIECE_SIZE - 1)) - 1;
	struct piece piece = {
		.start = place & ~(uint64_t)(LIVE_PIECE_SIZE - 1),
		.entries = entries,
		.snapshot = snapshot,
	};

	if (!place || number >= LIVE_PLANES)
		return NULL;
	piece.plane = live_planes[number];
	return number < LIVE_PLANE_LARGE ? read_small(&piece) : read_large(&piece);
}

struct err *live_blocks_read(const struct byte_source *source, struct chunk_extent extent,
			     const struct live_chunk *chunk, uint64_t pieces,
			     struct live_snapshot *snapshot)
{
	uint64_t places[(LIVE_ARRAY_OFFSET - LIVE_CHUNK_OFFSET - sizeof(*chunk)) / 8] = {0};
	auto_free uint8_t *entries = malloc(LIVE_PIECE_SIZE);
	struct err *err;
	size_t got;

	if (!entries)
		return err_no_memory();
	err = byte_source_read(source, extent.offset + LIVE_CHUNK_OFFSET + sizeof(*chunk), places,
			       sizeof(places), &got);
	for (uint64_t i = 0; !err && i < pieces && i < sizeof(places) / sizeof(places[0]); i++) {
		if (!places[i])
			continue;
		err = byte_source_read(source,
				       extent.offset + LIVE_ARRAY_OFFSET + i * LIVE_PIECE_SIZE,
				       entries, LIVE_PIECE_SIZE, &got);
		if (!err && got == LIVE_PIECE_SIZE)
			err = read_piece(places[i], entries, snapshot);
	}
	return err;
}
