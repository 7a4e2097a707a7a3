/*
 * Where a chunk of a live table belongs: docs/trace-format.md, section 10.2. Chunks of the table
 * have it in their header, events chunks as their first record.
 */
#ifndef MALLOW_TRACE_LIVE_PLACE_H
#define MALLOW_TRACE_LIVE_PLACE_H

#include "trace/checksum.h"
#include "trace/live.h"

/*
 * The checksum of a live chunk's head: of all that stays as it is. head: the chunk's header, 64
 * bytes. live: the struct live_chunk behind it.
 */
static inline uint64_t live_place_checksum(const void *head, const void *live)
{
	const size_t covered = LIVE_PLACE_OFFSET + offsetof(struct live_place, checksum);

	return trace_checksum(head, covered, live, sizeof(struct live_chunk));
}

#endif
