/* Checksums of chunks: XXH64, seed 0. A sealed chunk ends in that of all bytes before it (section
 * 3). */
#ifndef MALLOW_TRACE_CHECKSUM_H
#define MALLOW_TRACE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#include "trace/live.h"

// Let xxhash.h read words directly. Its default is memcpy, which the agent's -fno-builtin turns
// into calls: ten times slower. (Not for clang's analyzer: it takes such reads for reads of
// uninitialised memory.)
#ifndef __clang_analyzer__
#define XXH_FORCE_MEMORY_ACCESS 1
#endif
#define XXH_INLINE_ALL
#include <xxhash.h>

/*
 * The checksum of two pieces of memory, one after the other. The agent needs two: it seals a copy
 * of the chunk's header, and the payload where it lies in the slot.
 */
static inline uint64_t trace_checksum(const void *head, size_t head_size, const void *rest,
				      size_t rest_size)
{
	XXH64_state_t state;

	XXH64_reset(&state, 0);
	XXH64_update(&state, head, head_size);
	XXH64_update(&state, rest, rest_size);
	return XXH64_digest(&state);
}

/*
 * The checksum of a live chunk's head, all of which stays as it is (docs/trace-format.md, section
 * 10.2). head: the chunk's header, 64 bytes. live: the struct live_chunk behind it.
 */
static inline uint64_t live_place_checksum(const void *head, const void *live)
{
	const size_t covered = LIVE_PLACE_OFFSET + offsetof(struct live_place, checksum);

	return trace_checksum(head, covered, live, sizeof(struct live_chunk));
}

#endif
