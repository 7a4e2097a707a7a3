/*
 * Chains of reallocs: how often blocks were grown, what that copied, and with which size they
 * ended. For the facts of a whole run, and for sums of groups of blocks (sums_chains()).
 */
#ifndef MALLOW_ANALYSIS_FACTS_CHAIN_FACTS_H
#define MALLOW_ANALYSIS_FACTS_CHAIN_FACTS_H

#include "analysis/facts/run_facts.h"

/*
 * Adds a step: realloc made a block of one size of another, `weight` times. moved: at another
 * address.
 */
void chain_facts_step(struct chain_facts *chain, uint64_t from_size, uint64_t to_size, bool moved,
		      uint64_t weight);
/* Adds so many chains that ended with that size; modulo 2^64. */
void chain_facts_end(struct chain_facts *chain, uint64_t size, uint64_t weight);

/* Both, by the columns, for a block that has a successor. */
void chain_facts_add(struct chain_facts *chain, const struct block_columns *blocks, uint64_t block,
		     uint64_t weight);

/* How many chains ended. */
uint64_t chain_facts_ended(const struct chain_facts *chain);

/*
 * The least power of two that 95 % of the chains end at or below: so much at once would have spared
 * them all steps. *covered: how many these are.
 */
uint64_t chain_facts_reserve(const struct chain_facts *chain, uint64_t *covered);

#endif
