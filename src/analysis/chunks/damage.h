/* Which parts of a recording could not be read: how many chunks, and where the first is. */
#ifndef MALLOW_ANALYSIS_CHUNKS_DAMAGE_H
#define MALLOW_ANALYSIS_CHUNKS_DAMAGE_H

#include <stdint.h>

struct damage {
	uint64_t chunks;
	uint64_t first_offset;  /* the lowest file offset; valid if chunks > 0 */
	const char *first_text; /* what was expected there; static */
};

/* Counts a damaged chunk. expected: a static string. */
static inline void damage_note(struct damage *damage, uint64_t offset, const char *expected)
{
	if (!damage->chunks || offset < damage->first_offset) {
		damage->first_offset = offset;
		damage->first_text = expected;
	}
	damage->chunks++;
}

#endif
