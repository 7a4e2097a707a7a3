/*
 * The mappings that the program made itself, each from the call that made it to the one that took
 * the last of it away: munmap, mremap, or another mmap over it. What it added to its data segment
 * (sbrk, brk) is a mapping, too.
 */
#ifndef MALLOW_ANALYSIS_VIEWS_MAP_LIVES_H
#define MALLOW_ANALYSIS_VIEWS_MAP_LIVES_H

#include "analysis/recording.h"

/* Indices are of recording_mappings(). */
struct map_life {
	uint64_t address, length; /* bytes, as it was made */
	uint64_t left;            /* bytes that are still mapped at the end */
	uint32_t made;
	/* The mmap or brk that the memory first came from; other than `made` only by mremap. */
	uint32_t origin;
	uint32_t gone;            /* RECORDING_NONE: some of it is there at the end */
	uint32_t first_cut, cuts; /* what calls took of it, in the order of time */
};

/* A range that a call took of a mapping. */
struct map_cut {
	uint64_t address, length;
	uint32_t life;
	uint32_t operation;
};

/* Zeroed: none. */
struct map_lives {
	struct map_life *items; /* in the order in which they were made */
	size_t count;
	struct map_cut *cuts; /* those of one life together */
};

struct err *map_lives_create(const struct recording *recording, struct map_lives *ret);
void map_lives_deinit(struct map_lives *lives);

#endif
