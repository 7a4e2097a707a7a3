#include "analysis/facts/chain_facts.h"

#define COVERED 95 /* percent of chains */

/* The least i with size <= 1 << i. */
static unsigned int size_class(uint64_t size)
{
	return size < 2                   ? 0
	       : size > UINT64_C(1) << 63 ? 63
					  : 64 - (unsigned)__builtin_clzll(size - 1);
}

void chain_facts_step(struct chain_facts *chain, uint64_t from_size, uint64_t to_size, bool moved,
		      uint64_t weight)
{
	chain->steps += weight;
	if (moved)
		chain->copied += weight * (from_size < to_size ? from_size : to_size);
}

void chain_facts_end(struct chain_facts *chain, uint64_t size, uint64_t weight)
{
	chain->ends[size_class(size)] += weight;
}

void chain_facts_add(struct chain_facts *chain, const struct block_columns *blocks, uint64_t block,
		     uint64_t weight)
{
	uint64_t to = blocks->successor[block];

	chain_facts_step(chain, blocks->size[block], blocks->size[to],
			 blocks->address[to] != blocks->address[block], weight);
	if (blocks->successor[to] == RECORDING_NONE)
		chain_facts_end(chain, blocks->size[to], weight);
}

uint64_t chain_facts_ended(const struct chain_facts *chain)
{
	uint64_t ended = 0;

	for (int i = 0; i < 64; i++)
		ended += chain->ends[i];
	return ended;
}

uint64_t chain_facts_reserve(const struct chain_facts *chain, uint64_t *covered)
{
	double wanted = (double)chain_facts_ended(chain) * COVERED;
	unsigned int class = 0;

	*covered = chain->ends[0];
	while ((double)*covered * 100 < wanted && class < 63)
		*covered += chain->ends[++class];
	return UINT64_C(1) << class;
}
