/* What of a recording could not be read: how much, and where it began. */
#ifndef MALLOW_ANALYSIS_CHUNKS_DAMAGE_H
#define MALLOW_ANALYSIS_CHUNKS_DAMAGE_H

#include <stdint.h>

struct damage {
	uint64_t chunks;
	uint64_t first_offset;  /* the lowest in the file, valid when chunks */
	const char *first_text; /* what was expected there; static */
};

/* One more damaged chunk. expected must be a static string. */
static inline void damage_note(struct damage *damage, uint64_t offset, const char *expected)
{
	if (!damage->chunks || offset < damage->first_offset) {
		damage->first_offset = offset;
		damage->first_text = expected;
	}
	damage->chunks++;
}

#endif
