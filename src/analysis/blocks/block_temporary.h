/* Which blocks were temporary. Found when somebody asks: it takes a look at every block. */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_TEMPORARY_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_TEMPORARY_H

#include "analysis/recording.h"

/*
 * A bit for each block, 64 in a word as in struct filter_match: it was freed with no other
 * allocation by the same thread in between, whichever thread freed it. Where not all allocations
 * are known, of samples and with CULL, nothing can be said: no bit is set. *ret: the caller's to
 * free(). The recording has blocks.
 */
struct err *block_temporary_find(const struct recording *recording, uint64_t **ret);

#endif
