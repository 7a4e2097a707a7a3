/* Chains of reallocs (facts/chain_facts.h) of groups of blocks. */
#ifndef MALLOW_ANALYSIS_SUMS_CHAIN_SUMS_H
#define MALLOW_ANALYSIS_SUMS_CHAIN_SUMS_H

#include "analysis/facts/chain_facts.h"
#include "analysis/groups/block_groups.h"

/*
 * ret[i]: the steps to those blocks (block_bits.h) that are in groups[numbers[i]]. recording:
 * opened with RECORDING_BLOCKS. The only error: no memory.
 */
struct err *chain_sums_create(const struct recording *recording, const uint64_t *bits,
			      const struct block_groups *groups, const uint32_t *numbers,
			      uint32_t count, struct chain_facts **ret);

#endif
