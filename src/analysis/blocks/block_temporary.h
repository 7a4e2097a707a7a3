/* Finds which blocks were temporary. Made when somebody asks, because it looks at every block. */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_TEMPORARY_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_TEMPORARY_H

#include "analysis/recording.h"

/*
 * *ret: a bit for each block, 64 in a word as in struct filter_match, owned by the caller (free()).
 * The bit is set if the block was freed with no other allocation by its thread in between,
 * whichever thread freed it. In a sample and with CULL not all allocations are known, so no bit is
 * set. recording: must have blocks.
 */
struct err *block_temporary_find(const struct recording *recording, uint64_t **ret);

#endif
