/*
 * Where a chunk of a live table belongs: docs/trace-format.md, section 10.2. Chunks of the table
 * have it in their header, events chunks as their first record.
 */
#ifndef MALLOW_TRACE_LIVE_PLACE_H
#define MALLOW_TRACE_LIVE_PLACE_H

#include "trace/checksum.h"
#include "trace/live.h"

/*
 * The checksum of a live chunk's head: of all that stays as it is. chunk: its first 96 bytes, with
 * everything but the checksum set.
 */
static inline uint64_t live_place_checksum(const void *chunk)
{
	const size_t covered = LIVE_PLACE_OFFSET + offsetof(struct live_place, checksum);

	return trace_checksum(chunk, covered, (const uint8_t *)chunk + LIVE_CHUNK_OFFSET,
			      sizeof(struct live_chunk));
}

#endif
