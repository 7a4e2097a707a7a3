/* The trailer of a sealed chunk: XXH64, seed 0, of all bytes before it (section 3). */
#ifndef MALLOW_TRACE_CHECKSUM_H
#define MALLOW_TRACE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

// Without this xxhash.h reads words by memcpy, which the agent's -fno-builtin makes calls: ten
// times slower. (clang's analyzer takes the packed reads for garbage.)
#ifndef __clang_analyzer__
#define XXH_FORCE_MEMORY_ACCESS 1
#endif
#define XXH_INLINE_ALL
#include <xxhash.h>

/* In two pieces, because the agent seals a copy of the header in front of the slot's payload. */
static inline uint64_t trace_checksum(const void *head, size_t head_size, const void *rest,
				      size_t rest_size)
{
	XXH64_state_t state;

	XXH64_reset(&state, 0);
	XXH64_update(&state, head, head_size);
	XXH64_update(&state, rest, rest_size);
	return XXH64_digest(&state);
}

#endif
