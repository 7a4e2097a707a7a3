/* What a piece of a recording's blocks comes to: for facts_make.c, which puts pieces together. */
#ifndef MALLOW_ANALYSIS_FACTS_FACTS_PIECE_H
#define MALLOW_ANALYSIS_FACTS_FACTS_PIECE_H

#include "analysis/facts/facts_cache.h"
#include "analysis/facts/facts_steps.h"
#include "hosted/map.h"

/* What some of the blocks come to. Bytes over time are differences until finish_curves(). */
struct facts_piece {
	struct owned_facts sums;
	struct map chain_of;           /* from a site to its place in sums.chains */
	uint64_t numbers[FACTS_SHARE]; /* of the large blocks */
	bool failed;                   /* no memory */
};

/* Where in the run the block begins and ends: parts, and samples. */
struct facts_life {
	unsigned int part, freed_part; /* FACTS_POINTS: not within the run */
	uint32_t sample, freed_sample;
};

/* Adds a block. life: of the block before it in this piece; zeroed for the first. */
void facts_piece_add(struct facts_piece *piece, const struct facts_input *input, uint64_t i,
		     struct facts_life *life);

/* The chains of a site. NULL: no memory, and the piece has failed. */
struct chain_facts *facts_piece_chain(struct facts_piece *piece, uint32_t site);

#endif
